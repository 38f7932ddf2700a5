"""System instructions in other languages than English."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, with_system

TEMPLATES: tuple[Template, ...] = (
    Template(
        "sys-pt-banco",
        "system",
        "PT",
        with_system(
            "Você é a Lia, assistente do Banco [[b]]. Apresente-se sempre pelo nome. Fale apenas de cartões. Mencione "
            "o telefone [[t]]. Mantenha um tom calmo, sem pontos de exclamação.",
            "Perdi o meu cartão, o que faço?",
        ),
        "[[1]] Bloqueie o cartão no aplicativo. [[3]][[2]] [[4]]",
        (
            Slot(
                "role_persona",
                "Introduces itself as Lia, the assistant of the bank.",
                "Aqui é a Lia, assistente do Banco [[b]].",
                "Aqui é uma cliente do Banco [[b]].",
            ),
            Slot(
                "topic_scope",
                "Speaks of cards only and does not bring up loans.",
                "",
                " Também temos empréstimos com juros baixos.",
            ),
            Slot(
                "content_inclusion",
                'Mentions the telephone number "[[t]]".',
                "Depois, ligue para [[t]].",
                "Depois, ligue para a agência.",
            ),
            Slot(
                "style_tone",
                "Keeps a calm tone without exclamation marks.",
                "O novo cartão chega em cinco dias.",
                "O novo cartão chega em cinco dias!!!",
            ),
        ),
        {"b": ("Aurora", "Serrano"), "t": ("0800 112 40", "0800 975 13")},
    ),
    Template(
        "sys-ja-uketsuke",
        "system",
        "JA",
        with_system(
            "あなたは[[co]]の受付係です。受付係として名乗り、です・ます調で答えてください。約束のない来客には、"
            "用件を書く来訪票の記入をお願いしてください。約束のある来客は会議室へ案内してください。"
            "社員の電話番号は決して伝えないでください。",
            "約束はありませんが、営業の森さんに会いたいです。",
        ),
        "[[1]][[3]][[2]][[4]]",
        (
            Slot(
                "role_persona",
                "Introduces itself as the receptionist.",
                "[[co]]の受付係でございます。",
                "[[co]]の警備員でございます。",
            ),
            Slot(
                "language_linguistics",
                "The sentence about waiting is in the polite です・ます style.",
                "ロビーで少しお待ちいただきます。",
                "ロビーで少し待ってくれ。",
            ),
            Slot(
                "conditional_logic",
                "Since the visitor has no appointment, asks for the visitor form.",
                "お約束がないとのことですので、来訪票のご記入をお願いします。",
                "お約束がないとのことですが、会議室へご案内します。",
            ),
            Slot(
                "content_exclusion",
                'Does not give a telephone number (no "内線").',
                "",
                "森の番号は内線204です。",
            ),
        ),
        {"co": ("青葉商事", "みなと工業")},
    ),
    Template(
        "sys-ru-sklad",
        "system",
        "RU",
        with_system(
            "Вы — кладовщик компании «[[co]]» и отвечаете от его лица. Ответ всегда начинается со строки «Склад:». "
            "Всегда называйте номер полки. Ответ состоит ровно из трёх предложений.\nКартонные коробки: полка [[p]].",
            "Где лежат картонные коробки?",
        ),
        "[[2]]\n\n[[1]] Коробки лежат [[3]]. Забрать их можно до шести вечера.[[4]]",
        (
            Slot(
                "role_persona",
                "Answers as the storekeeper of the company.",
                "С вами говорит кладовщик компании «[[co]]».",
                "С вами говорит бухгалтер компании «[[co]]».",
            ),
            Slot("format_structure", 'Opens with "Склад:" as its first line.', "Склад:", "Добрый день"),
            Slot("content_inclusion", 'Names the shelf, "[[p]]".', "на полке [[p]]", "у дальней стены"),
            Slot(
                "quantity_limit",
                "Has exactly three sentences after the first line.",
                "",
                " Возьмите с собой пропуск.",
            ),
        ),
        {"co": ("Волна", "Кедр"), "p": ("А-12", "В-07")},
    ),
    Template(
        "sys-pl-rower",
        "system",
        "PL",
        with_system(
            "Jesteś mechanikiem w serwisie rowerowym [[s]] i mówisz w pierwszej osobie jako mechanik. Jeśli klient "
            "pisze o hamulcach, zabroń jazdy do czasu naprawy. Mów tylko o rowerach. Nigdy nie podawaj ceny.",
            "Hamulce w moim rowerze słabo działają. Czy mogę jutro jechać do pracy?",
        ),
        "[[1]] [[3]][[2]][[4]] Zapraszam do serwisu [[s]].",
        (
            Slot(
                "role_persona",
                "Speaks in the first person as the mechanic.",
                "Jako mechanik znam ten objaw.",
                "Jako sprzedawca butów znam ten objaw.",
            ),
            Slot(
                "topic_scope",
                "Speaks of bicycles only, not of the weather.",
                "",
                " Jutro zapowiadają deszcz i silny wiatr.",
            ),
            Slot(
                "conditional_logic",
                "Since the brakes are concerned, forbids riding until the repair.",
                "Do czasu naprawy nie wolno jeździć tym rowerem.",
                "Jutro można spokojnie jechać tym rowerem.",
            ),
            Slot(
                "content_exclusion",
                'Gives no price (no "złotych").',
                " Wymiana klocków trwa godzinę.",
                " Wymiana klocków kosztuje 60 złotych.",
            ),
        ),
        {"s": ("Szprycha", "Dwa Koła")},
    ),
    Template(
        "sys-vi-cuahang",
        "system",
        "VI",
        with_system(
            "Bạn trả lời khách của cửa hàng [[ch]]. Luôn bắt đầu bằng lời chào lịch sự «Kính chào quý khách». Trả lời "
            "hoàn toàn bằng tiếng Việt. Nêu các bước theo thứ tự: đăng ký, thanh toán, nhận hàng. Luôn ghi giờ mở cửa "
            "9 giờ.",
            "Tôi muốn mua hàng thì phải làm gì?",
        ),
        "[[1]]. [[4]] Cửa hàng [[ch]] mở cửa [[2]]. [[3]]",
        (
            Slot(
                "style_tone",
                'Greets politely with "Kính chào quý khách".',
                "Kính chào quý khách",
                "Này bạn",
            ),
            Slot("content_inclusion", 'Names the opening time, "9 giờ".', "lúc 9 giờ", "vào buổi sáng"),
            Slot(
                "language_linguistics",
                "The last sentence is in Vietnamese, like the rest.",
                "Chúng tôi rất vui được phục vụ trong tuần này.",
                "We are very happy to serve you this week.",
            ),
            Slot(
                "ordering_sequence",
                'Gives the steps in this order: "đăng ký", "thanh toán", "nhận hàng".',
                "Trước hết đăng ký, sau đó thanh toán, cuối cùng nhận hàng.",
                "Trước hết thanh toán, sau đó đăng ký, cuối cùng nhận hàng.",
            ),
        ),
        {"ch": ("Sao Mai", "Hoa Sen")},
    ),
    Template(
        "sys-fr-voyage",
        "system",
        "FR",
        with_system(
            "Vous êtes conseillère de l'agence [[a]] et vous vous présentez ainsi. Vous calculez toujours le prix "
            "total. Vous ne citez jamais d'autre agence. Les prix doivent être exacts : le billet coûte 40 euros, la "
            "chambre 60 euros la nuit. Le train part à 9 h ; dites-le.",
            "Combien coûtent un billet et deux nuits ?",
        ),
        "[[1]] Le billet coûte 40 euros et la chambre 60 euros la nuit. Le total est de [[2]] euros.[[3]] Le train part à [[4]] h.",
        (
            Slot(
                "role_persona",
                "Introduces herself as an adviser of the agency.",
                "Bonjour, je suis conseillère de l'agence [[a]].",
                "Bonjour, je suis une voyageuse comme vous à l'agence [[a]].",
            ),
            Slot("task_completion", "Works out the right total, 160 euros.", "160", "140"),
            Slot(
                "content_exclusion",
                'Names no other agency (no "Voyages Martin").',
                "",
                " Voyages Martin demande davantage.",
            ),
            Slot("quality_requirements", "States the departure of the train correctly, 9 h.", "9", "8"),
        ),
        {"a": ("Horizon", "Belle Route")},
    ),
)
