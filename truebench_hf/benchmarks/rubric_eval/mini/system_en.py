"""System instructions in English: a system message sets role and rules."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, with_system

TEMPLATES: tuple[Template, ...] = (
    Template(
        "sys-en-parcel",
        "system",
        "EN",
        with_system(
            "You are Robin, the parcel adviser of [[firm]]. Introduce yourself by this name. If a parcel is more than "
            "two days late, offer a voucher. Never promise a delivery time. Show understanding for the customer.",
            "My parcel [[nr]] should have come five days ago!",
        ),
        "[[1]] [[4]] Parcel [[nr]] is at our depot. [[2]][[3]]",
        (
            Slot(
                "role_persona",
                "Introduces itself as Robin, the parcel adviser.",
                "Hello, this is Robin, your parcel adviser.",
                "Hello, this is the driver of the van.",
            ),
            Slot(
                "conditional_logic",
                "Since the parcel is more than two days late, offers a voucher.",
                "As it is this late, we offer you a voucher.",
                "As it is this late, we have asked the depot to look for it.",
            ),
            Slot(
                "content_exclusion",
                'Promises no delivery time (no "tomorrow").',
                "",
                " It will be with you tomorrow.",
            ),
            Slot(
                "style_tone",
                "Shows understanding for the customer's annoyance.",
                "I understand that this is annoying.",
                "You should have checked the website.",
            ),
        ),
        {"firm": ("Swift Post", "Blue Van"), "nr": ("88120", "45037")},
    ),
    Template(
        "sys-en-librarian",
        "system",
        "EN",
        with_system(
            "You are the librarian of the company library and speak in that role. Answer in exactly this form: a line "
            '"Answer:" with the answer, then a line "Shelf:" with the shelf mark. Speak of the library only. If a book '
            "is on loan, give the date of its return. The shelf mark of a book must be the one in the catalogue.\n"
            "Catalogue: [[title]], shelf [[shelf]], on loan until 6 April.",
            "As a colleague from sales I would like to read [[title]]. Can I have it?",
        ),
        '[[2]] [[1]] "[[title]]" is out at the moment[[5]].[[3]]\nShelf: [[4]]',
        (
            Slot(
                "role_persona",
                "Speaks in the role of the librarian.",
                "as your librarian I can tell you:",
                "as your sales manager I can tell you:",
            ),
            Slot("format_structure", 'Opens with "Answer:".', "Answer:", "Well,"),
            Slot(
                "topic_scope",
                "Speaks of the library only and does not comment on sales figures.",
                "",
                " Congratulations on the sales figures.",
            ),
            Slot(
                "quality_requirements",
                "Gives the shelf mark of the catalogue correctly: [[shelf]].",
                "[[shelf]]",
                "[[wrong]]",
            ),
            Slot(
                "conditional_logic",
                "Since the book is on loan, gives the date of its return.",
                " and comes back on 6 April",
                "",
            ),
        ),
        {
            "title": ("Fair Negotiation", "Charts That Speak"),
            "shelf": ("C-14", "F-07"),
            "wrong": ("C-41", "E-07"),
        },
    ),
    Template(
        "sys-en-clinic",
        "system",
        "EN",
        with_system(
            "You write for the reception desk of [[clinic]] and speak as we, the reception. If someone describes chest "
            "pain, tell them to call the emergency number 112. Otherwise offer an appointment. Use short main clauses "
            "without any question. Always name the opening hours, 8 to 17.",
            "Since this morning I have had chest pain. What should I do?",
        ),
        "[[1]] [[2]] [[4]] [[3]]",
        (
            Slot(
                "role_persona",
                "Speaks as the reception of the clinic, as we.",
                "We at the reception of [[clinic]] take this seriously.",
                "I am a fellow patient of [[clinic]] and take this seriously.",
            ),
            Slot(
                "conditional_logic",
                "Since chest pain is described, tells the person to call 112.",
                "Call 112 now.",
                "Take an appointment on Monday.",
            ),
            Slot(
                "language_linguistics",
                "Contains no question.",
                "Someone should stay with you.",
                "Is someone with you?",
            ),
            Slot(
                "content_inclusion",
                'Names the opening hours, "8 to 17".',
                "Our desk is open from 8 to 17.",
                "Our desk is open every weekday.",
            ),
        ),
        {"clinic": ("Elm Road Clinic", "Harbour Practice")},
    ),
    Template(
        "sys-en-coach",
        "system",
        "EN",
        with_system(
            'You are a writing coach. You call the user "author" in every answer. You always give exactly two tips as '
            'bullet points, and always return the corrected sentence after "Corrected:". Name the kind of mistake.',
            'Check: "The results of the survey was sent to [[dept]]."',
        ),
        "[[1]]\n\nCorrected: The results of the survey [[2]] sent to [[dept]].\n\n"
        "- Look for the noun that the verb belongs to.\n- Read the sentence aloud.[[4]]\n\nKind of mistake: [[3]]",
        (
            Slot(
                "role_persona",
                "Speaks as a writing coach and calls the user author.",
                "As your writing coach I see one mistake, author.",
                "As your computer technician I see one mistake, dear user.",
            ),
            Slot("task_completion", "Returns the sentence with the verb corrected.", "were", "was"),
            Slot(
                "content_inclusion",
                'Names the kind of mistake, "agreement".',
                "agreement of subject and verb",
                "grammar",
            ),
            Slot("quantity_limit", "Gives exactly two bullet points.", "", "\n- Keep your sentences short."),
        ),
        {"dept": ("Finance", "Sales", "Legal")},
    ),
    Template(
        "sys-en-json",
        "system",
        "EN",
        with_system(
            "You are a sorting service for incoming mail. Answer with one bare JSON object with the keys queue, note "
            'and urgent, and no text around it. If the mail sets a deadline within a week, "urgent" is true, else '
            "false. Never repeat account numbers. The note is written in a neutral tone, without blame. The keys are "
            "in the order given here.",
            "Account [[acc]]: please correct my invoice within three days, your colleague got it wrong.",
        ),
        "[[1]]{[[5]]}",
        (
            Slot("format_structure", "Is one bare JSON object, with no text around it.", "", "Result: "),
            Slot(
                "conditional_logic",
                "Marks the mail as urgent, since it sets a deadline within a week.",
                "true",
                "false",
            ),
            Slot("content_exclusion", 'Does not repeat the account number "[[acc]]".', "", " for account [[acc]]"),
            Slot(
                "style_tone",
                "The note is neutral in tone and blames nobody.",
                "Invoice to be corrected",
                "Careless colleague botched the invoice, to be corrected",
            ),
            Slot(
                "ordering_sequence",
                'The keys come in this order: "queue", "note", "urgent".',
                '"queue": "invoices", "note": "[[4]][[3]]", "urgent": [[2]]',
                '"urgent": [[2]], "queue": "invoices", "note": "[[4]][[3]]"',
            ),
        ),
        {"acc": ("7730-51", "2086-94")},
    ),
)
