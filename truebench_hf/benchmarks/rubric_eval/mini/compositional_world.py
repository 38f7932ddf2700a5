"""Compositional instructions in other languages than English."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, user

TEMPLATES: tuple[Template, ...] = (
    Template(
        "com-es-envio",
        "compositional",
        "ES",
        user(
            "Un cliente pregunta por su pedido [[n]]: lo hizo el lunes y hoy es viernes; el plazo es de tres días. "
            "Calcula si el pedido va con retraso. Si va con retraso, ofrece el envío gratuito; si no, pide paciencia. "
            "Después, traduce al inglés la frase «Su paquete está en camino» y ponla en la última línea. Trata al "
            "cliente con cortesía, con un saludo que empiece por «Estimado», y no hables de otros productos."
        ),
        "[[4]]\n\nHemos revisado su pedido [[n]]. [[1]][[3]]\n\n[[2]]",
        (
            Slot(
                "conditional_logic",
                "Since the order is late, offers free shipping.",
                "Como va con retraso, le ofrecemos el envío gratuito.",
                "Como está dentro del plazo, le pedimos un poco de paciencia.",
            ),
            Slot(
                "task_completion",
                "Gives the English translation of the sentence in the last line.",
                "Your parcel is on its way.",
                "Su paquete está en camino.",
            ),
            Slot(
                "topic_scope",
                "Speaks only of this order and does not advertise other products.",
                "",
                " Aproveche también nuestra nueva gama de mochilas.",
            ),
            Slot("style_tone", 'Greets the customer courteously with "Estimado".', "Estimado cliente:", "¡Oye, tú!"),
        ),
        {"n": ("4471", "9026")},
    ),
    Template(
        "com-ja-stock",
        "compositional",
        "JA",
        user(
            "在庫表：[[p]]12個、封筒40個、付箋8個。まず合計を計算してください。次に、10個未満の品があれば"
            "「発注：品名」の行を書き、なければ「発注：なし」と書いてください。最後に、担当者への連絡文を一文、"
            "です・ます調で書いてください。一行目は「在庫報告」としてください。"
        ),
        "[[4]]\n合計：[[2]]個\n発注：[[1]]\n\n[[3]]",
        (
            Slot(
                "conditional_logic",
                "Orders the one item with fewer than 10 pieces left (付箋).",
                "付箋",
                "なし",
            ),
            Slot("task_completion", "Gives the right total of 60 pieces.", "60", "62"),
            Slot(
                "language_linguistics",
                "The message to the person in charge is in the polite です・ます style.",
                "担当者の方は本日中に棚の確認をお願いします。",
                "担当者は本日中に棚を確認しろ。",
            ),
            Slot("format_structure", 'Opens with "在庫報告" as its first line.', "在庫報告", "ご報告"),
        ),
        {"p": ("鉛筆", "消しゴム")},
    ),
    Template(
        "com-ru-protokol",
        "compositional",
        "RU",
        user(
            "Из заметок составьте протокол: «[[name]] готовит смету до 12 мая; Олег заказывает мебель до 5 мая; склад "
            "переезжает до 20 мая». Сначала перечислите поручения по срокам, от ближайшего к дальнему. Затем, если у "
            "поручения нет ответственного, добавьте строку «Назначить ответственного»; если у всех он есть, напишите "
            "«Все назначены». В конце укажите общее число поручений. Ничего не придумывайте сверх заметок."
        ),
        "Протокол\n\n[[4]]\n\n[[2]]\nВсего поручений: [[1]]",
        (
            Slot("task_completion", "States the right number of tasks, three.", "3", "5"),
            Slot(
                "conditional_logic",
                "Since the move of the store has nobody in charge, says that someone is to be appointed.",
                "Назначить ответственного",
                "Все назначены",
            ),
            Slot(
                "quality_requirements",
                "Names no sum of money, since the notes hold none.",
                "",
                " за 80 тысяч рублей",
            ),
            Slot(
                "ordering_sequence",
                "Lists the tasks by deadline, the nearest first.",
                "- до 5 мая: Олег заказывает мебель[[3]]\n- до 12 мая: [[name]] готовит смету\n"
                "- до 20 мая: склад переезжает",
                "- до 12 мая: [[name]] готовит смету\n- до 5 мая: Олег заказывает мебель[[3]]\n"
                "- до 20 мая: склад переезжает",
            ),
        ),
        {"name": ("Ирина", "Светлана")},
    ),
    Template(
        "com-pt-hotel",
        "compositional",
        "PT",
        user(
            "Responda, como rececionista do Hotel [[h]], a um hóspede que chega às 23 h com um cão pequeno. Regras: se a "
            "chegada for depois das 22 h, indique o código da porta [[c]]; caso contrário, diga que a receção está "
            "aberta. Animais pequenos são aceites e pagam 15 euros. O pequeno-almoço começa às 7 h; indique-o. Calcule também o total de duas noites a 80 euros "
            "mais a taxa do cão."
        ),
        "Boa tarde,\n\n[[3]] [[1]] O seu cão é bem-vindo e a taxa é de 15 euros. "
        "O pequeno-almoço começa às [[4]] h. O total da estadia é de [[2]] euros.\n\nAté breve",
        (
            Slot(
                "conditional_logic",
                "Since the guest arrives after 22 h, gives the door code.",
                "Como chega depois das 22 h, use o código [[c]] na porta.",
                "À sua chegada, a receção está aberta.",
            ),
            Slot("task_completion", "Works out the right total of 175 euros.", "175", "160"),
            Slot(
                "role_persona",
                "Speaks as the receptionist of the hotel.",
                "sou o rececionista do Hotel [[h]].",
                "sou da empresa de limpeza do Hotel [[h]].",
            ),
            Slot("quality_requirements", "States the start of breakfast correctly, 7 h.", "7", "8"),
        ),
        {"h": ("Miramar", "Ribeira"), "c": ("4816", "7203")},
    ),
    Template(
        "com-de-urlaub",
        "compositional",
        "DE",
        user(
            "Herr [[name]] beantragt Urlaub vom 3. bis zum 7. August und hat noch vier Urlaubstage; der Zeitraum umfasst "
            "fünf Arbeitstage. Schreiben Sie die Antwort der Personalabteilung. Prüfen Sie, ob die Tage reichen: wenn "
            "ja, genehmigen Sie; wenn nein, lehnen Sie ab und machen Sie einen Gegenvorschlag mit Datum. Nur zum "
            "Urlaub, in höflichem Ton mit Bedauern bei einer Absage, höchstens vier Sätze."
        ),
        "Sehr geehrter Herr [[name]],\n\n[[4]] [[1]] [[2]][[5]][[3]]",
        (
            Slot(
                "conditional_logic",
                "Refuses the request, since the days left do not suffice.",
                "Ihr Antrag ist abgelehnt, weil ein Urlaubstag fehlt.",
                "Ihr Antrag ist noch in Prüfung, weil ein Urlaubstag fehlt.",
            ),
            Slot(
                "task_completion",
                "Makes a counter-proposal with dates.",
                "Möglich wäre die Zeit vom 4. bis zum 7. August.",
                "Möglich wäre vielleicht eine andere Zeit.",
            ),
            Slot(
                "quantity_limit",
                "Has at most four sentences after the greeting.",
                "",
                " Rufen Sie gern an. Wir sind bis 17 Uhr da.",
            ),
            Slot(
                "style_tone",
                "Expresses regret politely.",
                "leider gibt es ein Hindernis, das wir bedauern.",
                "da haben Sie wohl nicht richtig gezählt.",
            ),
            Slot(
                "topic_scope",
                "Keeps to the leave request and brings in no other subject such as office keys.",
                "",
                " Geben Sie bitte auch den Büroschlüssel ab.",
            ),
        ),
        {"name": ("Krause", "Albers")},
    ),
)
