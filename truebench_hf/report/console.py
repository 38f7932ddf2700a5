from truebench_hf.report.study import print_grids


def show(sections, *, notes=()):
    print_grids(sections)
    for note in notes:
        print("Note:", note)
