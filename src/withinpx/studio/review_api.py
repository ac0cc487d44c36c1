"""The routes of a review: what a person changed in the tracks of a finished run."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from withinpx.reviewing.log import REDO, UNDO
from withinpx.reviewing.operations import parse_operation
from withinpx.reviewing.reviewed import REVIEWED
from withinpx.studio.api import NOT_CACHED, OfRun, get_results
from withinpx.studio.reviews import Json, Reviews, to_text
from withinpx.studio.security import require_token


async def get_reviews(request: Request) -> Reviews:
    reviews: Reviews = request.app.state.reviews
    return reviews


OfReviews = Annotated[Reviews, Depends(get_reviews)]
router = APIRouter(prefix="/api/runs/{run_id}", dependencies=[Depends(require_token), Depends(get_results)])


class Change(BaseModel):
    """One step, and the revision of the review that the person saw."""

    revision: int


class Order(Change):
    """An operation: `op`, and what it needs."""

    operation: dict[str, Any]


@router.get("/review", response_class=Response)
def show_review(run: OfRun, reviews: OfReviews) -> Response:
    """The review's revision, and all in which the reviewed tracks differ from the network's."""
    return _answer(reviews.show(run.id))


@router.post("/review", response_class=Response)
def add_operation(run: OfRun, reviews: OfReviews, order: Order) -> Response:
    """Add an operation to the review; 409 if the review has changed since `revision`."""
    return _answer(reviews.change(run.id, order.revision, parse_operation(order.operation).to_json()))


@router.post("/review/undo", response_class=Response)
def undo(run: OfRun, reviews: OfReviews, change: Change) -> Response:
    """Take the last operation back."""
    return _answer(reviews.change(run.id, change.revision, {"op": UNDO}))


@router.post("/review/redo", response_class=Response)
def redo(run: OfRun, reviews: OfReviews, change: Change) -> Response:
    """Do the operation again that was taken back last."""
    return _answer(reviews.change(run.id, change.revision, {"op": REDO}))


@router.get(f"/download/{REVIEWED}", response_class=Response)
def download_reviewed(run: OfRun, reviews: OfReviews) -> Response:
    """The tracks as a person left them: the columns of `tracks.csv`, and who set each position and identity."""
    attached = {"Content-Disposition": f'attachment; filename="{REVIEWED}"', **NOT_CACHED}
    return Response(reviews.csv(run.id), media_type="text/csv; charset=utf-8", headers=attached)


def _answer(review: Json) -> Response:
    return Response(to_text(review), media_type="application/json", headers=NOT_CACHED)
