"""Compositional instructions in English: branches, chains of steps and demands that depend on each other."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, user

TEMPLATES: tuple[Template, ...] = (
    Template(
        "com-en-ticket",
        "compositional",
        "EN",
        user(
            'Handle this support ticket: "I was charged twice for [[item]]. Please refund one payment and then send me '
            'a new invoice." Step 1: if the ticket is about a payment, start with "Queue: Billing", otherwise with '
            '"Queue: General". Step 2: list the customer\'s two requests as numbered lines, in the order in which they '
            "stand in the ticket. Step 3: if the ticket gives no order number, ask for it; otherwise confirm it. Step "
            "4: write one reply sentence to the customer that begins with Dear customer."
        ),
        "[[1]]\n\n[[3]]\n\n[[4]] we are looking into the double charge for [[item]]. [[2]]",
        (
            Slot(
                "conditional_logic",
                "Since the ticket is about a payment, opens with the billing queue.",
                "Queue: Billing",
                "Queue: General",
            ),
            Slot(
                "conditional_logic",
                "Since the ticket gives no order number, asks the customer for it.",
                "Could you send us your order number?",
                "We have your order number on file.",
            ),
            Slot(
                "ordering_sequence",
                "Lists the refund before the new invoice, as the ticket does.",
                "1. Refund one payment\n2. Send a new invoice",
                "1. Send a new invoice\n2. Refund one payment",
            ),
            Slot(
                "task_completion",
                'Delivers a reply to the customer that begins with "Dear customer".',
                "Dear customer,",
                "Internal note:",
            ),
        ),
        {"item": ("the desk lamp", "the label printer")},
    ),
    Template(
        "com-en-expense",
        "compositional",
        "EN",
        user(
            "Expense claim of [[name]]: train [[a]] EUR, hotel [[b]] EUR, meals [[c]] EUR. Add the amounts up. If the "
            'total is above 150 EUR, the decision is "Needs approval", otherwise "Approved". Give a table with the '
            "columns Item and EUR separated by a vertical bar, then a line with the total, then the decision. Name the "
            "claimant correctly."
        ),
        "[[3]]\n\nTotal: [[1]] EUR\nDecision: [[2]]\nClaimant: [[4]]",
        (
            Slot(
                "task_completion", "Adds the three amounts up to the right total of [[sum]] EUR.", "[[sum]]", "[[off]]"
            ),
            Slot(
                "conditional_logic",
                "Takes the decision that follows from the true total of [[sum]] EUR and the limit of 150 EUR.",
                "[[good]]",
                "[[bad]]",
            ),
            Slot(
                "format_structure",
                "Shows the items in a table with a header row Item | EUR.",
                "Item | EUR\nTrain | [[a]]\nHotel | [[b]]\nMeals | [[c]]",
                "Train: [[a]]\nHotel: [[b]]\nMeals: [[c]]",
            ),
            Slot(
                "quality_requirements", 'Spells the claimant\'s name correctly as "[[name]]".', "[[name]]", "[[typo]]"
            ),
        ),
        {
            "name": ("Thorsten Meyer", "Siobhan Byrne"),
            "typo": ("Torsten Mayer", "Shivon Burn"),
            "a": ("48", "35"),
            "b": ("92", "70"),
            "c": ("23", "28"),
            "sum": ("163", "133"),
            "off": ("153", "143"),
            "good": ("Needs approval", "Approved"),
            "bad": ("Approved", "Needs approval"),
        },
    ),
    Template(
        "com-en-terms",
        "compositional",
        "EN",
        user(
            'Work on these three lines: "The client pays within 30 days." / "Each client gets a receipt." / "A client '
            'may cancel in writing." First replace every client by [[word]]. Then put the lines in alphabetical order. '
            'Then, if any line speaks of cancelling, add the line "Legal check: yes", else "Legal check: no". Keep '
            "every sentence in the present tense."
        ),
        "[[2]]\n\n[[3]]",
        (
            Slot(
                "task_completion",
                'Replaces every "client" by "[[word]]".',
                "Each [[word]] gets a receipt.",
                "Each client gets a receipt.",
            ),
            Slot(
                "ordering_sequence",
                "The three lines are in alphabetical order.",
                "A [[word]] may cancel in writing.\n[[1]]\nThe [[word]] [[4]] within 30 days.",
                "[[1]]\nA [[word]] may cancel in writing.\nThe [[word]] [[4]] within 30 days.",
            ),
            Slot(
                "conditional_logic",
                "Marks the text for a legal check, since one line speaks of cancelling.",
                "Legal check: yes",
                "Legal check: no",
            ),
            Slot("language_linguistics", "Keeps every sentence in the present tense.", "pays", "paid"),
        ),
        {"word": ("buyer", "member", "customer")},
    ),
    Template(
        "com-en-meeting",
        "compositional",
        "EN",
        user(
            "[[who]] writes that she cannot come to Tuesday's budget meeting and will be back on Wednesday. Draft the "
            "message to the team. If somebody is missing, move the meeting to the first day on which everybody is "
            "there; otherwise confirm Tuesday. Include an agenda with at least two points. Speak of this meeting only, "
            "and keep the message friendly, with thanks to the readers."
        ),
        "Hello team,\n\nour budget meeting [[1]].[[3]]\n\n[[2]]\n\n[[4]]",
        (
            Slot(
                "conditional_logic",
                "Moves the meeting to Wednesday, since a participant is missing on Tuesday.",
                "moves to Wednesday at 10:00",
                "stays on Tuesday at 10:00",
            ),
            Slot(
                "task_completion",
                "Provides an agenda with at least two points.",
                "Agenda:\n- Figures of the last quarter\n- Plan for the next quarter",
                "The agenda will be sent out later.",
            ),
            Slot(
                "topic_scope",
                "Speaks of the budget meeting only, not of other office news.",
                "",
                " By the way, the coffee machine on the second floor has been repaired.",
            ),
            Slot(
                "style_tone", "Ends in a friendly way, thanking the readers.", "Many thanks to you all!", "Be on time."
            ),
        ),
        {"who": ("Carla", "Mei", "Agnes")},
    ),
    Template(
        "com-en-release",
        "compositional",
        "EN",
        user(
            "Here are the changes of version [[v]]: (a) the export button works again, (b) passwords now need 12 "
            "characters, (c) the old login page has been removed. Write release notes. Step 1: sort the changes under "
            "the headings ## Fixed, ## Changed, ## Removed. Step 2: if something was removed, start with a line "
            "beginning with Warning, otherwise start with the title. Step 3: if a change concerns passwords, add the "
            "advice to update them. Step 4: state the number of changes. Do not name any developer; quote the "
            "length of passwords correctly."
        ),
        "[[1]]# Release [[v]]\n\n[[4]]\n- The export button works again[[6]].\n\n## Changed\n"
        "- Passwords now need [[5]] characters.[[2]]\n\n## Removed\n- The old login page has been taken out.\n\n[[3]]",
        (
            Slot(
                "conditional_logic",
                "Since a page was removed, opens with a warning line.",
                "Warning: this version removes a page.\n\n",
                "",
            ),
            Slot(
                "conditional_logic",
                "Since a change concerns passwords, advises the reader to update them.",
                " Please update yours.",
                "",
            ),
            Slot(
                "task_completion",
                "States the right number of changes, three.",
                "Number of changes: 3",
                "Number of changes: 4",
            ),
            Slot(
                "format_structure",
                'Puts the repaired button under the heading line "## Fixed".',
                "## Fixed",
                "Repairs:",
            ),
            Slot("quality_requirements", "Gives the new length of passwords correctly, 12 characters.", "12", "10"),
            Slot(
                "content_exclusion",
                'Does not name a developer (no "Priya").',
                "",
                ", thanks to Priya",
            ),
        ),
        {"v": ("2.4", "5.1")},
    ),
)
