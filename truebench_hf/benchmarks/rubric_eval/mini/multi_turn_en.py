"""Multi-turn instructions in English: the last turn rests on what earlier turns settled."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, chat

TEMPLATES: tuple[Template, ...] = (
    Template(
        "mul-en-quote",
        "multi_turn",
        "EN",
        chat(
            "We are planning a staff day at [[place]]. Please give all amounts in Swiss francs (CHF) from now on, and "
            "never suggest anything with alcohol.",
            "Understood: amounts in CHF, and nothing with alcohol.",
            "Room 400, lunch 750, bus 300. Send me the cost list, dearest item first, with the total at the end, and "
            "one friendly closing sentence that wishes me a good day.",
        ),
        "Cost list for [[place]]\n\n[[2]]\n\nTotal: [[1]] [[3]]\n\n[[4]][[5]]",
        (
            Slot("multi_turn_coherence", "Keeps the currency agreed in turn 1 for the total.", "CHF", "EUR"),
            Slot(
                "ordering_sequence",
                "Lists the items from the dearest to the cheapest.",
                "- Lunch: 750\n- Room: 400\n- Bus: 300",
                "- Room: 400\n- Lunch: 750\n- Bus: 300",
            ),
            Slot("quality_requirements", "The total is right: 1450.", "1450", "1350"),
            Slot(
                "content_exclusion",
                'Suggests nothing with alcohol (no "wine").',
                "",
                "A wine tasting in the evening could be added.\n\n",
            ),
            Slot(
                "style_tone",
                "Has a friendly close that wishes the reader a good day.",
                "I wish you a good day!",
                "That is all.",
            ),
        ),
        {"place": ("Lake House", "Villa Sole", "Mill Farm")},
    ),
    Template(
        "mul-en-steps",
        "multi_turn",
        "EN",
        chat(
            "Write steps 1 to 3 for setting up a new laptop at [[firm]]. Call the machine the device throughout.",
            "1. Unpack the device.\n2. Connect the device to power.\n3. Switch the device on.",
            "Good. Continue with the next two steps (joining the wireless network, installing updates), numbered on "
            "from where you stopped, each on its own line, and add a last line with an estimate in minutes that "
            'begins with "Time:".',
        ),
        "[[1]]. Join [[2]] to the wireless network of [[firm]].\n[[3]]\n[[4]]",
        (
            Slot(
                "multi_turn_coherence",
                "Carries the numbering on from the earlier steps: the first new step has the number 4.",
                "4",
                "1",
            ),
            Slot(
                "multi_turn_coherence",
                'Keeps the term agreed in turn 1: says "device", not "laptop".',
                "the device",
                "the laptop",
            ),
            Slot(
                "task_completion",
                "Covers the installation of updates, as asked.",
                "5. Install all updates and restart.",
                "5. Choose a desktop picture.",
            ),
            Slot(
                "format_structure",
                "Ends with a line of its own that begins with Time and a colon.",
                "Time: about 20 minutes",
                "This takes about 20 minutes.",
            ),
        ),
        {"firm": ("Norden Ltd", "Castle Optics")},
    ),
    Template(
        "mul-en-menu",
        "multi_turn",
        "EN",
        chat(
            "I need lunch ideas for our workshop in [[city]]. One guest, Mr Rossi, is allergic to nuts.",
            "Noted: no dish will contain nuts. How many dishes would you like?",
            "Exactly three dishes as bullet points. If a dish contains cheese, mark it with (C). Food only, please, no "
            "remarks about the room.",
        ),
        "Lunch in [[city]]:\n\n- [[3]]\n- [[1]]\n- Grilled vegetables with rice[[4]]\n\n[[2]]",
        (
            Slot(
                "multi_turn_coherence",
                "Respects the allergy named in turn 1: no dish contains nuts.",
                "Salad with lentils",
                "Salad with walnuts",
            ),
            Slot(
                "topic_scope",
                "Keeps to the food and makes no remark about the workshop room.",
                "Tell me if you would like other dishes.",
                "The workshop room should be aired before lunch.",
            ),
            Slot(
                "conditional_logic",
                "Marks the dish that contains cheese with (C).",
                "Pasta with cheese (C)",
                "Pasta with cheese",
            ),
            Slot("quantity_limit", "Offers exactly three bullet points.", "", "\n- Tomato soup with bread"),
        ),
        {"city": ("Oslo", "Porto", "Ghent")},
    ),
    Template(
        "mul-en-guide",
        "multi_turn",
        "EN",
        chat(
            "For this chat you are Ada, the guide of the town museum, and you speak of yourself as I. My name is "
            "[[name]].",
            "Welcome, I am Ada, your guide in the town museum.",
            "Please address me by my name. When does the clock exhibition open? (It opens on 2 May.) Answer in the "
            "future tense and tell me the hall, which is Hall B.",
        ),
        "[[1]][[2]] The clock exhibition [[3]] on 2 May[[4]].",
        (
            Slot(
                "multi_turn_coherence",
                "Addresses the user by the name given in turn 1.",
                "Hello [[name]]. ",
                "Hello. ",
            ),
            Slot(
                "role_persona",
                "Speaks as Ada, the guide of the museum.",
                "I am Ada, and as your guide I am glad you ask.",
                "I am a language program, and I am glad you ask.",
            ),
            Slot("language_linguistics", "Speaks of the opening in the future tense.", "will open", "opens"),
            Slot("content_inclusion", 'Names the hall, "Hall B".', " in Hall B", " on the ground floor"),
        ),
        {"name": ("Jonas", "Farida", "Wen")},
    ),
    Template(
        "mul-en-policy",
        "multi_turn",
        "EN",
        chat(
            "Our rule for home office: two days a week, to be agreed with the team lead. Remember it.",
            "I have noted it: two days a week, agreed with the team lead.",
            "Correction: it is three days a week from [[month]]. The team lead stays in charge.",
            "Thank you, changed to three days a week.",
            "Now write the paragraph for the staff handbook. It must name when the rule starts, stay with home office, "
            "and end with one example of a week, introduced by For example.",
        ),
        "From [[3]], staff may work from home on [[1]] days a week. The days are agreed with [[2]].[[4]] [[5]]",
        (
            Slot(
                "multi_turn_coherence",
                "Uses the corrected number of days, three, not the earlier one.",
                "three",
                "two",
            ),
            Slot(
                "multi_turn_coherence",
                "Keeps the team lead as the person with whom the days are agreed.",
                "the team lead",
                "the head office",
            ),
            Slot(
                "quality_requirements",
                "Gives the start of the rule accurately as [[month]].",
                "[[month]]",
                "next year",
            ),
            Slot(
                "topic_scope",
                "Stays with home office and says nothing about other rules such as sick leave.",
                "",
                " Sick leave is to be reported before nine.",
            ),
            Slot(
                "task_completion",
                "Supplies the example of a week that was asked for.",
                "For example, a week may begin with days at home and end with days in the office.",
                "Questions about working at home or in the office may be put to the colleagues.",
            ),
        ),
        {"month": ("April", "October")},
    ),
)
