"""Constrained instructions in English: several demands in one turn."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, user

TEMPLATES: tuple[Template, ...] = (
    Template(
        "con-en-drill",
        "constrained",
        "EN",
        user(
            "Write a notice for the office board about the fire drill on [[date]]. Give the date, say nothing about "
            'the lifts, use exactly three bullet points (lines that start with "- "), and make the request to gather '
            "at the [[place]] politely, with the word please."
        ),
        "Fire drill[[1]]\n\n- When the alarm sounds, leave your desk at once.\n- [[2]]\n- [[4]] at the [[place]].[[3]]",
        (
            Slot("content_inclusion", 'Gives the date "[[date]]".', " on [[date]]", " next week"),
            Slot(
                "content_exclusion",
                'Does not mention the lifts (no "lift").',
                "Go down by the nearest staircase.",
                "Go down by the nearest staircase, not by the lift.",
            ),
            Slot("quantity_limit", "Has exactly three bullet points.", "", "\n- Wait until your name is called."),
            Slot("style_tone", 'Asks politely, with the word "please".', "Please gather", "Gather"),
        ),
        {
            "date": ("14 March", "9 October", "22 May"),
            "place": ("rear car park", "north gate", "bicycle stands"),
        },
    ),
    Template(
        "con-en-advert",
        "constrained",
        "EN",
        user(
            "Draft a short job advert for a part-time bookkeeper at [[firm]]. Use the headings Role, Tasks, Offer and "
            "Contact in that order. State the [[hours]] hours a week. British spelling. Nothing about the age of "
            "applicants."
        ),
        "Role\nWe are looking for a [[4]]bookkeeper for our office at [[firm]].\n\n[[2]]\n\n"
        "Contact\nSend your application to the office manager.",
        (
            Slot("content_inclusion", 'States the "[[hours]] hours" a week.', "[[hours]] hours a week", "Part-time"),
            Slot(
                "ordering_sequence",
                'The headings come in this order: "Role", "Tasks", "Offer", "Contact".',
                "Tasks\nYou check invoices and [[3]] the monthly accounts.\n\nOffer\n[[1]], with flexible mornings.",
                "Offer\n[[1]], with flexible mornings.\n\nTasks\nYou check invoices and [[3]] the monthly accounts.",
            ),
            Slot("language_linguistics", 'Uses the spelling "organise", not "organize".', "organise", "organize"),
            Slot(
                "content_exclusion",
                'Does not express a wish about the age of applicants (no "young").',
                "careful ",
                "careful young ",
            ),
        ),
        {"firm": ("Harlow Joinery", "Pine Street Dental"), "hours": ("18", "22")},
    ),
    Template(
        "con-en-status",
        "constrained",
        "EN",
        user(
            'Write a status mail to our client [[client]] about the website move. Begin with a line "Subject: ...". '
            "Apologise for the late report. Then three bullet points, no more and no fewer, labelled Done, Open and "
            "Next in this order; the DNS entries are prepared, the contact form is untested, the switch is on [[date]] "
            "(name that date). Explain the abbreviation DNS in brackets where it first stands. No contractions. Do "
            "not mention the budget."
        ),
        "[[1]]Dear [[client]],\n\n[[6]]Here is where the website move stands.\n\n[[4]]\n\n[[5]][[3]]\n\n"
        "Kind regards\nThe web team",
        (
            Slot(
                "format_structure",
                'Opens with "Subject:" and the topic on a line of its own.',
                "Subject: Website move\n\n",
                "",
            ),
            Slot(
                "content_inclusion",
                'Names "[[date]]" as the day of the switch.',
                " on [[date]]",
                " once the test is passed",
            ),
            Slot(
                "content_exclusion",
                'Does not mention the budget (no "budget").',
                "",
                " The work stays within the agreed budget.",
            ),
            Slot(
                "ordering_sequence",
                'The labels come in this order: "Done:", "Open:", "Next:".',
                "- Done: all pages are copied and the DNS[[7]] entries are prepared.\n"
                "- Open: the contact form has not been tested.\n- Next: we switch[[2]].[[8]]",
                "- Open: the contact form has not been tested.\n"
                "- Done: all pages are copied and the DNS[[7]] entries are prepared.\n- Next: we switch[[2]].[[8]]",
            ),
            Slot(
                "language_linguistics",
                "Uses no contractions such as we'll or isn't.",
                "We will keep you informed.",
                "We'll keep you informed.",
            ),
            Slot(
                "style_tone",
                "Apologises to the client for the late report.",
                "We apologise for sending this report late. ",
                "",
            ),
            Slot(
                "quality_requirements",
                "Explains the abbreviation DNS in brackets where it first stands.",
                " (Domain Name System)",
                "",
            ),
            Slot(
                "quantity_limit",
                "Has exactly three bullet points.",
                "",
                "\n- Also: the old photo archive has been tidied up.",
            ),
        ),
        {"client": ("Ms Abara", "Mr Lindqvist"), "date": ("3 June", "17 September")},
    ),
    Template(
        "con-en-booking",
        "constrained",
        "EN",
        user(
            'Turn this message into JSON: "Table for six on [[spoken]] 2026 at 19:30, name is [[name]], call me on '
            '[[phone]]." Return one bare JSON object and nothing else, with the keys date, time, guests, name in this '
            "order and the date in ISO form. Leave the phone number out."
        ),
        '[[1]]{\n[[2]],\n  "guests": 6,\n  "name": "[[name]]"[[3]]\n}',
        (
            Slot(
                "format_structure",
                "Is one bare JSON object, with no text around it.",
                "",
                "Here is the booking:\n",
            ),
            Slot(
                "ordering_sequence",
                'The keys come in this order: "date", "time", "guests", "name".',
                '  "date": "[[4]]",\n  "time": "19:30"',
                '  "time": "19:30",\n  "date": "[[4]]"',
            ),
            Slot(
                "content_exclusion",
                'Leaves out the phone number "[[phone]]".',
                "",
                ',\n  "phone": "[[phone]]"',
            ),
            Slot(
                "quality_requirements",
                'Gets the date right: "[[iso]]".',
                "[[iso]]",
                "[[wrong]]",
            ),
        ),
        {
            "spoken": ("14 March", "8 November"),
            "iso": ("2026-03-14", "2026-11-08"),
            "wrong": ("2026-04-14", "2026-08-11"),
            "name": ("Okafor", "Brandt"),
            "phone": ("0170 555 01", "0151 555 72"),
        },
    ),
    Template(
        "con-en-captain",
        "constrained",
        "EN",
        user(
            "Write the morning message for the staff of our excursion boat about the new watch roster, which starts on "
            "[[day]] at 06:00. Write as the captain of the ship and address the readers as crew. Two paragraphs. Name "
            "the starting time, thank the readers for their work last week, and keep to the roster: no other business."
        ),
        "[[1]] From [[day]] the new watch roster applies[[4]].[[2]][[3]][[5]] Questions about the roster go to the mate.",
        (
            Slot(
                "role_persona",
                "Speaks as the captain of the ship and addresses the readers as crew.",
                "Good morning, crew, this is your captain.",
                "Good morning, everyone, this is the booking office.",
            ),
            Slot(
                "topic_scope",
                "Keeps to the watch roster and raises no other business, such as meals.",
                "",
                " The galley will serve pasta at noon.",
            ),
            Slot("quantity_limit", "Has exactly two paragraphs.", "\n\n", " "),
            Slot("content_inclusion", 'Names the starting time "06:00".', ", starting at 06:00", ", starting early"),
            Slot(
                "style_tone",
                "Shows appreciation by thanking the readers for last week's work.",
                "Thank you for the work you did last week.",
                "Last week's work is behind us.",
            ),
        ),
        {"day": ("Monday", "Thursday")},
    ),
    Template(
        "con-en-packing",
        "constrained",
        "EN",
        user(
            'Make a checklist of what to put on our trade fair stand in [[city]]. First line: "Stand checklist". Then '
            "bullet points in alphabetical order, each item in lower case. Only things for the stand, no clothes."
        ),
        "[[3]]\n\n[[1]]\n- [[2]]\n- [[4]]",
        (
            Slot(
                "ordering_sequence",
                "The bullet items are in alphabetical order.",
                "- banner\n- business cards\n- extension lead\n- price lists",
                "- business cards\n- banner\n- extension lead\n- price lists",
            ),
            Slot("topic_scope", "Keeps to things for the stand: no clothes are listed.", "samples", "shirts"),
            Slot("format_structure", 'Opens with "Stand checklist".', "Stand checklist", "For the fair in [[city]]"),
            Slot("language_linguistics", "Every bullet item is in lower case.", "tape", "Tape"),
        ),
        {"city": ("Leeds", "Cork", "Malmo")},
    ),
)
