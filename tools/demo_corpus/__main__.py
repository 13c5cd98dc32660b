"""Write the corpus that the package ships: `python -m tools.demo_corpus`."""

from glassformer.extensions.demo import corpus as demo

from .exam import write_corpus

if __name__ == "__main__":
    write_corpus()
    print(f"{demo.FILE}: {demo.FILE.stat().st_size:,} bytes")
