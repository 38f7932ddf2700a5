"""Constrained instructions in other languages than English; the rubrics stay English, as judges mostly get them."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, user

TEMPLATES: tuple[Template, ...] = (
    Template(
        "con-de-einladung",
        "constrained",
        "DE",
        user(
            "Schreiben Sie eine Einladung zum Sommerfest der Abteilung am [[tag]]. Der Treffpunkt ist [[ort]], bitte "
            "nennen Sie ihn. Die Leser werden gesiezt. Genau drei Sätze, kein Wort über Preise."
        ),
        "Wir laden [[2]] herzlich zu unserem Sommerfest am [[tag]] ein. Treffpunkt ist um 16 Uhr [[1]]. [[4]][[3]]",
        (
            Slot("content_inclusion", 'Names the meeting point "[[ort]]".', "[[ort]]", "wie im letzten Jahr"),
            Slot("language_linguistics", 'Uses the formal address "Sie", not "euch".', "Sie", "euch"),
            Slot("quantity_limit", "Has exactly three sentences.", "", " Für Musik ist gesorgt."),
            Slot(
                "content_exclusion",
                'Does not mention prices (no "Euro").',
                "Getränke stehen bereit.",
                "Getränke stehen für zwei Euro bereit.",
            ),
        ),
        {"tag": ("Freitag", "Donnerstag"), "ort": ("der Innenhof", "die Dachterrasse")},
    ),
    Template(
        "con-ko-room",
        "constrained",
        "KO",
        user(
            "[[room]] 이용 안내문을 작성해 주세요. 시설관리팀 담당자 입장에서 쓰고, '- '로 시작하는 항목을 정확히 네 개 "
            "넣어 주세요. 모든 항목은 '-니다'로 끝나는 격식체로 쓰고, 회의실 이용과 관계없는 내용은 넣지 마세요."
        ),
        "[[1]]\n\n- 예약은 사내 게시판에서 하루 전까지 받습니다.\n- [[2]]\n"
        "- 이용이 끝나면 조명과 냉방을 끄시기 바랍니다.\n- [[4]][[3]]",
        (
            Slot(
                "role_persona",
                "Is written from the point of view of the facilities team.",
                "저희 시설관리팀에서 [[room]] 이용 방법을 안내드립니다.",
                "저희 영업팀에서 [[room]] 이용 방법을 안내드립니다.",
            ),
            Slot(
                "language_linguistics",
                "Every bullet point ends in the formal style (-니다).",
                "한 번에 두 시간까지 이용할 수 있습니다.",
                "한 번에 두 시간까지 이용할 수 있어요.",
            ),
            Slot("quantity_limit", "Has exactly four bullet points.", "", "\n- 책상은 원래 자리에 두시기 바랍니다."),
            Slot(
                "topic_scope",
                "Keeps to the use of the meeting room and brings in no unrelated matter such as parking.",
                "고장 난 장비는 바로 알려 주시기 바랍니다.",
                "지하 주차장은 다음 주부터 공사에 들어갑니다.",
            ),
        ),
        {"room": ("3층 회의실", "7층 대회의실")},
    ),
    Template(
        "con-fr-communique",
        "constrained",
        "FR",
        user(
            "Rédigez un bref communiqué interne : à partir du [[date]], l'accueil du siège ouvre à 8 h au lieu de 9 h. "
            "La première ligne est « Communiqué ». Ton sobre, sans point d'exclamation. Ne parlez que des horaires de "
            "l'accueil, et indiquez l'ancienne et la nouvelle heure sans vous tromper."
        ),
        "[[3]]\n\nÀ partir du [[date]], l'accueil du siège ouvrira [[4]].[[2]] [[1]]",
        (
            Slot(
                "style_tone",
                "Keeps a sober tone without any exclamation mark.",
                "Nous vous remercions de votre attention.",
                "Nous vous remercions de votre attention !",
            ),
            Slot(
                "topic_scope",
                "Speaks of the reception hours only, not of other news such as the canteen.",
                "",
                " La cantine proposera aussi un nouveau menu.",
            ),
            Slot("format_structure", 'Opens with "Communiqué" as its first line.', "Communiqué", "Bonjour à tous,"),
            Slot(
                "quality_requirements",
                "States the change of hours correctly: 8 h instead of 9 h.",
                "à 8 h au lieu de 9 h",
                "à 9 h au lieu de 8 h",
            ),
        ),
        {"date": ("4 mai", "12 octobre")},
    ),
    Template(
        "con-pl-reklamacja",
        "constrained",
        "PL",
        user(
            "Napisz odpowiedź na reklamację pani [[pani]], której dostarczono uszkodzony czajnik. Przeproś za kłopot, "
            "podaj numer sprawy [[nr]], opisz kroki w kolejności: zdjęcie, odbiór, zwrot pieniędzy. Podaj, że "
            "zwrot trwa 5 dni roboczych."
        ),
        "Szanowna Pani,\n\n[[1]]Sprawa [[4]] jest już w toku. [[2]] Zwrot pieniędzy trwa [[3]].\n\n"
        "Z poważaniem\nDział obsługi klienta",
        (
            Slot(
                "style_tone",
                "Is apologetic: says sorry for the trouble.",
                "bardzo przepraszamy za kłopot z uszkodzonym czajnikiem. ",
                "piszemy w sprawie uszkodzonego czajnika. ",
            ),
            Slot(
                "ordering_sequence",
                "Describes the steps in the order photo, collection, refund.",
                "Najpierw prosimy o zdjęcie czajnika, potem kurier odbierze paczkę, a na końcu zwrócimy pieniądze.",
                "Najpierw kurier odbierze paczkę, potem prosimy o zdjęcie czajnika, a na końcu zwrócimy pieniądze.",
            ),
            Slot(
                "quality_requirements",
                "Gives the correct time for the refund, 5 working days.",
                "5 dni roboczych",
                "15 dni roboczych",
            ),
            Slot("content_inclusion", 'Gives the case number "[[nr]]".', "o numerze [[nr]]", "reklamacyjna"),
        ),
        {"pani": ("Nowak", "Zielińskiej"), "nr": ("R-2081", "R-3417")},
    ),
    Template(
        "con-zh-store",
        "constrained",
        "ZH",
        user(
            "请以[[shop]]店长的身份写一份门店公告：[[date]]起营业时间延长到晚上十点。先用一行标题“门店公告”，"
            "再用编号列出正好三条说明。只谈营业时间，不要提促销活动。"
        ),
        "[[3]]\n\n[[1]]\n1. 自[[date]]起，本店每天营业到晚上十点。\n2. 收银台在九点五十分停止收款。\n3. [[4]][[2]]",
        (
            Slot(
                "role_persona",
                "Is written in the role of the store manager.",
                "各位顾客好，我是[[shop]]的店长，现将新的营业时间说明如下：",
                "各位顾客好，我是[[shop]]的送货员，现将新的营业时间说明如下：",
            ),
            Slot(
                "quantity_limit",
                "Has exactly three numbered points.",
                "",
                "\n4. 节假日的营业时间同样适用。",
            ),
            Slot("format_structure", 'Opens with "门店公告" as the title line.', "门店公告", "营业时间调整"),
            Slot(
                "topic_scope",
                "Keeps to the opening hours and does not bring up sales promotions.",
                "早上的开门时间不变。",
                "当天全场商品八折促销。",
            ),
        ),
        {"shop": ("东街书店", "南桥超市"), "date": ("六月一日", "九月十五日")},
    ),
    Template(
        "con-it-listino",
        "constrained",
        "IT",
        user(
            "Prepara per il sito l'elenco dei corsi di [[citta]]: Fotografia 90 euro, Ceramica 120 euro, Cucina 150 "
            "euro. Un corso per riga con un trattino, dal meno caro al più caro, poi una sola frase su come "
            "iscriversi. Dai del Lei al lettore. Parla solo di corsi e iscrizione. Non nominare gli insegnanti."
        ),
        "[[1]]\n\n[[3]][[2]][[4]]",
        (
            Slot(
                "ordering_sequence",
                "The courses are sorted from the cheapest to the dearest.",
                "- Fotografia: 90 euro\n- Ceramica: 120 euro\n- Cucina: 150 euro[[5]]",
                "- Ceramica: 120 euro\n- Fotografia: 90 euro\n- Cucina: 150 euro[[5]]",
            ),
            Slot(
                "topic_scope",
                "Speaks only of the courses and the enrolment, not of sights in the town.",
                " presso la segreteria di [[citta]]",
                " presso la segreteria, accanto al famoso castello di [[citta]]",
            ),
            Slot(
                "language_linguistics",
                "Addresses the reader formally (Lei), not with tu.",
                "Può iscriversi",
                "Puoi iscriverti",
            ),
            Slot(
                "quantity_limit",
                "Has exactly one sentence after the list.",
                ".",
                ". La segreteria è aperta ogni mattina.",
            ),
            Slot(
                "content_exclusion",
                'Does not name a teacher (no "Bianchi").',
                "",
                " con Marta Bianchi",
            ),
        ),
        {"citta": ("Lucca", "Ferrara")},
    ),
)
