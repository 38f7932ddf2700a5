"""Multi-turn instructions in other languages than English."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, chat

TEMPLATES: tuple[Template, ...] = (
    Template(
        "mul-fr-formation",
        "multi_turn",
        "FR",
        chat(
            "Nous organisons une formation à [[ville]]. Pour toute la conversation : les heures s'écrivent sur 24 "
            "heures, par exemple 14 h.",
            "C'est noté, j'écrirai les heures sur 24 heures.",
            "Écrivez le rappel aux participants : début à trois heures de l'après-midi. Commencez par la ligne "
            "« Rappel », citez la salle [[salle]], et terminez poliment par « Cordialement ».",
        ),
        "[[4]]\n\nLa formation de [[ville]] commence à [[1]][[2]].\n\n[[3]]",
        (
            Slot(
                "multi_turn_coherence",
                "Writes the time on the 24-hour clock agreed in turn 1.",
                "15 h",
                "3 h de l'après-midi",
            ),
            Slot("content_inclusion", 'Names the room "[[salle]]".', ", salle [[salle]]", ", dans la grande salle"),
            Slot("style_tone", 'Ends politely with "Cordialement".', "Cordialement", "Salut"),
            Slot("format_structure", 'Opens with "Rappel" as its first line.', "Rappel", "Bonjour,"),
        ),
        {"ville": ("Nantes", "Dijon"), "salle": ("Voltaire", "Colette")},
    ),
    Template(
        "mul-ko-mail",
        "multi_turn",
        "KO",
        chat(
            "앞으로 고객 메일에서는 '고객님'이라는 호칭만 쓰고, '손님'은 쓰지 마세요. 당신은 [[shop]]의 상담원입니다.",
            "네, '고객님'이라는 호칭만 쓰겠습니다.",
            "교환 접수가 끝났다는 메일을 존댓말로 써 주세요. 상담원이라고 소개하고, 교환 이야기만 해 주세요.",
        ),
        "안녕하세요, [[1]]. [[3]] 교환 접수가 완료되었습니다. 새 상품은 [[2]][[4]]",
        (
            Slot(
                "multi_turn_coherence",
                "Uses the form of address agreed in turn 1 (고객님).",
                "고객님",
                "손님",
            ),
            Slot(
                "language_linguistics",
                "Uses polite speech in the sentence about the new item.",
                "내일 발송해 드립니다.",
                "내일 발송한다.",
            ),
            Slot(
                "role_persona",
                "Introduces itself as the shop's customer adviser.",
                "저는 [[shop]] 상담원입니다.",
                "저는 [[shop]] 창고 직원입니다.",
            ),
            Slot(
                "topic_scope",
                "Keeps to the exchange and does not bring up a new membership offer.",
                "",
                " 지금 회원으로 가입하시면 쿠폰도 드립니다.",
            ),
        ),
        {"shop": ("하늘문구", "도담가구")},
    ),
    Template(
        "mul-it-viaggio",
        "multi_turn",
        "IT",
        chat(
            "Vado da Milano a [[meta]] per lavoro. Viaggio solo in treno, mai in aereo.",
            "Va bene, terrò conto del treno.",
            "Fai il programma della giornata in ordine di orario: riunione alle 11, partenza alle 8, cena alle 20. "
            "La riunione dura due ore: scrivi quando finisce. Non indicare nomi di alberghi.",
        ),
        "Programma per [[meta]]\n\n[[2]][[3]]",
        (
            Slot(
                "multi_turn_coherence",
                "Respects the means of travel chosen in turn 1.",
                "in treno",
                "in aereo",
            ),
            Slot(
                "ordering_sequence",
                "Lists the events in the order of their times.",
                "- Ore 8: partenza [[1]] da Milano\n- Ore 11: riunione, fino alle [[4]]\n- Ore 20: cena",
                "- Ore 11: riunione, fino alle [[4]]\n- Ore 8: partenza [[1]] da Milano\n- Ore 20: cena",
            ),
            Slot(
                "content_exclusion",
                'Gives no name of a hotel (no "Hotel").',
                "",
                " all'Hotel Aurora",
            ),
            Slot("quality_requirements", "Says correctly when the meeting ends, at 13.", "13", "14"),
        ),
        {"meta": ("Torino", "Bologna")},
    ),
    Template(
        "mul-vi-baocao",
        "multi_turn",
        "VI",
        chat(
            "Từ giờ, hãy viết với tư cách trợ lý của phòng kế toán và luôn gọi khách hàng là «Quý khách».",
            "Vâng, tôi sẽ gọi khách hàng là «Quý khách».",
            "Hãy viết thư báo rằng hóa đơn số [[so]] đã quá hạn. Viết đúng ba câu, và nêu số tiền phải trả gồm "
            "200.000 đồng tiền hàng và 30.000 đồng phí.",
        ),
        "Kính gửi [[1]], tôi là [[4]]. Hóa đơn số [[so]] đã quá hạn thanh toán. Tổng số tiền phải trả là [[2]] đồng.[[3]]",
        (
            Slot(
                "multi_turn_coherence",
                "Addresses the customer as agreed in turn 1 (Quý khách).",
                "Quý khách",
                "anh chị",
            ),
            Slot("task_completion", "Gives the amount due as the right sum, 230.000.", "230.000", "220.000"),
            Slot(
                "quantity_limit",
                "Has exactly three sentences.",
                "",
                " Xin cảm ơn.",
            ),
            Slot(
                "role_persona",
                "Writes as the assistant of the accounting department.",
                "trợ lý phòng kế toán",
                "trợ lý phòng kinh doanh",
            ),
        ),
        {"so": ("118", "246")},
    ),
    Template(
        "mul-zh-fangan",
        "multi_turn",
        "ZH",
        chat(
            "我们在准备[[city]]的客户拜访。请记住：日期一律写成“6月3日”这样的格式，另外不要提竞争对手。",
            "好的，日期按“6月3日”的格式写，也不会提竞争对手。",
            "请写一段拜访通知：拜访时间是七月八日。第一行写“通知”，正文只谈这次拜访，不谈其他工作。",
        ),
        "[[3]]\n\n我们将于[[1]]拜访[[city]]的客户[[2]]。请大家提前准备资料。[[4]]",
        (
            Slot(
                "multi_turn_coherence",
                "Writes the date in the format agreed in turn 1.",
                "7月8日",
                "七月八日",
            ),
            Slot(
                "content_exclusion",
                'Does not mention competitors (no "竞争对手").',
                "",
                "，并了解竞争对手的情况",
            ),
            Slot("format_structure", 'Opens with "通知" as its first line.', "通知", "各位同事："),
            Slot(
                "topic_scope",
                "Keeps to the visit and does not turn to other work such as the annual audit.",
                "",
                "年度审计的材料也请一并上交。",
            ),
        ),
        {"city": ("成都", "青岛")},
    ),
    Template(
        "mul-es-soporte",
        "multi_turn",
        "ES",
        chat(
            "Mi impresora es la [[modelo]] y ya la he reiniciado dos veces. Trátame de tú, por favor.",
            "Gracias. Te trataré de tú.",
            "Sigue sin imprimir y la luz está roja. Si la luz es roja, hay que cambiar el cartucho; si es verde, "
            "revisar el cable. Dime un solo consejo, que no repita lo que ya hice, y anímame un poco.",
        ),
        "[[4]] [[2]] [[1]] la tapa de la [[modelo]].[[3]]",
        (
            Slot(
                "language_linguistics",
                "Uses the informal tú form for the instruction about the cover.",
                "Después cierra bien",
                "Después cierre usted bien",
            ),
            Slot(
                "conditional_logic",
                "Since the light is red, advises changing the cartridge.",
                "Como la luz está roja, hay que cambiar el cartucho.",
                "Como la luz está roja, hay que revisar el cable.",
            ),
            Slot(
                "multi_turn_coherence",
                "Does not suggest again the restart that the user reported in turn 1.",
                "",
                " Si no funciona, hay que reiniciar la impresora.",
            ),
            Slot(
                "style_tone",
                "Is encouraging at the start.",
                "¡Ánimo, lo vamos a resolver!",
                "Otra vez este problema.",
            ),
        ),
        {"modelo": ("Lumen 300", "Alba 12")},
    ),
)
