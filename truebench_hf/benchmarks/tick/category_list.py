"""What a question of a checklist asks for: the categories of paper 004, appendix A, and InFoBench's five.

The names are the papers'; what they mean is worded for this project.
"""

from __future__ import annotations

CATEGORIES: dict[str, str] = {
    "Classification": "Things are to be put into given classes, or labelled.",
    "Concision": "The response is to be brief, without what nobody asked for; no number is named.",
    "Data Manipulation": "Given data are to be sorted, computed, converted or changed in some other way.",
    "Document Generation": "A text of a certain kind is to be written: an e-mail, an article, a report, a poem.",
    "Exclusion: Keyword": "A certain word or phrase must not occur.",
    "Exclusion: Topic": "A certain subject or piece of content must not occur.",
    "Extraction": "Something is to be found in a given text and taken out of it as it is.",
    "File Formatting: JSON": "The response, or a part of it, is to be JSON.",
    "File Formatting: TSV/CSV": "The response, or a part of it, is to be rows with tabs or commas between the values.",
    "Formatting: General": "Layout of any other kind: lists, tables, headings, numbering, a prescribed pattern.",
    "Inclusion: Keyword": "A certain word, name, number or phrase has to occur.",
    "Inclusion: Topic": "A certain subject or piece of content has to occur.",
    "Knowledge Retrieval": "What is said has to be true of the world, and known from elsewhere than the instruction.",
    "Length": "A number of words, characters, sentences, items or the like is set.",
    "Subjective QA": "An opinion, a recommendation or a judgement of taste is asked for.",
    "Tone": "Manner of writing: register, mood, style, form of address, the voice of somebody.",
}

INFOBENCH: dict[str, str] = {
    "Content": "What the response is about: subjects and facts that it has to hold or to leave out.",
    "Linguistic": "Language: grammar, choice of words, sentence patterns, sounds and rhymes.",
    "Style": "Manner of writing: tone, genre, point of view, for whom it is written.",
    "Format": "Layout and form: lists, tables, structure, a prescribed pattern.",
    "Number": "A number is set: of words, sentences, items, or in what is computed.",
}

SCHEMES = {"internal": CATEGORIES, "infobench": INFOBENCH}
