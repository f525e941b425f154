"""Lines of birds.csv with the tables that belong to them."""

from eyechart.realbirdid.data.observations import Observations

CROW = "b.jpg,2,,Corvus,0,vocalization,50,8,Corvus corax;Corvus corone"
RANGES = "species,south,north,west,east\nPica pica,40,60,-10,20\nCorvus corax,0,10,170,-170\nPica pica,-10,0,0,10\n"
HEADER = "image,observation_id,species,genus,answerable,reason,latitude,longitude,candidates"
TAXONOMY = "species,genus\nCorvus corax,Corvus\nPica pica,Pica\nCorvus corone,Corvus\nParus major,Parus\n"
RAVEN = "a.jpg,1,Corvus corax,Corvus,1,,50.5,8.25,Pica pica;Corvus corax"
TIT = "c.jpg,3,Parus major,Parus,1,,,,"


def lists(found: Observations) -> list[list[int]]:
    return [
        found.candidates[start:stop].tolist() for start, stop in zip(found.offsets, found.offsets[1:], strict=False)
    ]
