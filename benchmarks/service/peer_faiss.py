"""A plain FastAPI app on faiss that serves the codes of a model file: the peer of `beside_faiss`.

python benchmarks/service/peer_faiss.py MODEL.xorec --port 8090
"""

import argparse
from typing import Any

import faiss
import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from xorec.recommender.recommender import Recommender


class Item(BaseModel):
    id: int
    distance: int
    score: float


class Answer(BaseModel):
    user: int
    items: list[Item]


def make_app(path: str) -> FastAPI:
    model = Recommender.load(path)
    codes: Any = model.representation
    index = faiss.IndexBinaryFlat(codes.bits)
    index.add(np.ascontiguousarray(codes.item_codes).view(np.uint8))
    users = np.ascontiguousarray(codes.user_codes).view(np.uint8)
    seen = [set(model.items_of(row).tolist()) for row in range(len(users))]
    app = FastAPI()

    @app.get("/readyz")  # type: ignore[untyped-decorator]
    async def readyz() -> dict[str, str]:
        return {"status": "ready"}

    @app.get("/v1/recommend")  # type: ignore[untyped-decorator]
    async def recommend(user: int, k: int = 10) -> Answer:
        distances, rows = index.search(users[user : user + 1], k + len(seen[user]))
        found = zip(rows[0].tolist(), distances[0].tolist(), strict=True)
        best = [(row, d) for row, d in found if row not in seen[user]][:k]
        items = [Item(id=row, distance=d, score=1 - d / codes.bits) for row, d in best]
        return Answer(user=user, items=items)

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=8090)
    wanted = parser.parse_args()
    faiss.omp_set_num_threads(1)
    uvicorn.run(make_app(wanted.model), port=wanted.port, log_level="warning", loop="uvloop")
