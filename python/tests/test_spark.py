"""Spark, by hand: needs pyspark and Java, which scripts/python does not install."""

import os
import sys

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession  # noqa: E402

from malkoha.spark import build, dedup  # noqa: E402


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "5")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.parametrize("known", [True, False])
def test_build(spark, known):
    frame = spark.range(30_000, numPartitions=7).selectExpr("id", "concat('key ', id) as word")
    for column, keys in (("id", list(range(30_000))), ("word", [f"key {number}" for number in range(30_000)])):
        whole = build(frame, column, 0.001, keys=30_000 if known else None, seed=7)
        assert len(whole) == 30_000 and whole.contains_many(keys).all() and whole.seed == 7
        assert whole.stats().predicted_rate <= 0.001
        # 10 are expected; 5 standard deviations more.
        assert whole.contains_many(range(10**9, 10**9 + 10_000)).sum() <= 26


def test_partitions_without_rows(spark):
    frame = spark.range(10, numPartitions=4)
    assert len(build(frame.where("id < 3"), "id", 0.001)) == 3
    assert len(build(frame.where("id < 0"), "id", 0.001)) == 0


def test_missing_keys_and_impossible_plans(spark):
    frame = spark.createDataFrame([("a",), (None,), ("b",)], "word string")
    assert len(build(frame, "word", 0.001, nulls="skip")) == 2
    with pytest.raises(Exception, match="missing"):
        build(frame, "word", 0.001)
    with pytest.raises(ValueError, match="rate"):
        build(frame, "word", 2.0)


def test_dedup(spark):
    frame = spark.range(20_000, numPartitions=6).selectExpr("id", "concat('word ', id % 3000) as word")
    rows = dedup(frame, "word", rate=1e-9).collect()
    assert sorted({row.word for row in rows}) == sorted({f"word {number}" for number in range(3000)})
    assert len(rows) == 3000 and all(row.word == f"word {row.id % 3000}" for row in rows)
    assert dedup(frame, "word").schema == frame.schema
