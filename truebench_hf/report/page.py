from truebench_hf.report import study


def page(title, sections, *, lead="", notes=(), facts=None):
    return study.page(title, notes, facts or {}, sections, lead)
