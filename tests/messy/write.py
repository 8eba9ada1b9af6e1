"""Write a table as people have them: customers.csv, with labels, and new_customers.csv without.

Numbers with missing cells, categories, dates, percentages, amounts, an identifier, a constant
column, free text, a few rows without a label, and one churned customer in five. Run it from the
root of the repository: python -m tests.messy.write
"""

import csv
import io
from datetime import date, timedelta
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
N_ROWS, N_NEW, SEED = 320, 12, 20261117
PLANS, FEES = ["basic", "gold", "silver"], {"basic": 900, "silver": 1300, "gold": 2100}
CITIES = ["Lyon", "Porto", "Gent", "Turku", "Graz", "Cork"]
RARE_CITIES = ["Bled", "Split", "Vaasa", "Trento", "Zwolle"]
SUBJECTS = ["The invoice", "My router", "The app", "Your courier", "The contract", "Support"]
VERBS = ["was late again", "works fine", "keeps failing", "surprised me", "needs an update"]
ENDINGS = ["since spring", "at home", "on weekends", "after the call", "as promised", "for weeks"]
HEADER = [
    "customer_id", "churn", "age", "tenure_months", "monthly_fee", "usage", "visits", "plan",
    "city", "paperless", "signup", "satisfaction", "currency", "comment",
]  # fmt: skip


def make_rows(rng: np.random.Generator, n: int, first: int) -> list[dict[str, str]]:
    """Return rows as text; churned customers are newer, pay more and use less."""
    return [make_row(rng, first + i) for i in range(n)]


def make_row(rng: np.random.Generator, number: int) -> dict[str, str]:
    churned = rng.random() < 0.2
    tenure = max(1, round(rng.normal(14 if churned else 30, 8)))
    plan = rng.choice(PLANS, p=[0.6, 0.1, 0.3] if churned else [0.3, 0.4, 0.3])
    fee = {"basic": 900, "silver": 1300, "gold": 2100}[plan] * rng.normal(
        1.1 if churned else 1, 0.1
    )
    usage = np.clip(rng.normal(35 if churned else 60, 14), 1, 99)
    signup = date(2026, 6, 1) - timedelta(days=30 * tenure + int(rng.integers(30)))
    city = rng.choice(RARE_CITIES) if rng.random() < 0.08 else rng.choice(CITIES)
    words = [rng.choice(part) for part in (SUBJECTS, VERBS, ENDINGS)]
    return {
        "customer_id": f"C-{4000 + 7 * number}",
        "churn": "yes" if churned else "no",
        "age": blank(rng, str(int(np.clip(rng.normal(44, 13), 18, 90))), 0.06),
        "tenure_months": str(tenure),
        "monthly_fee": f"€{fee:,.2f}",
        "usage": blank(rng, f"{usage:.0f}%", 0.08),
        "visits": blank(rng, str(rng.poisson(2 if churned else 5)), 0.05, "n/a"),
        "plan": str(plan),
        "city": blank(rng, str(city), 0.05),
        "paperless": str(rng.choice(["TRUE", "FALSE"], p=[0.7, 0.3])),
        "signup": signup.isoformat(),
        "satisfaction": blank(rng, f"{rng.normal(2.6 if churned else 3.8, 0.7):.1f}", 0.1),
        "currency": "EUR",
        "comment": " ".join(words) + f" ({rng.integers(100, 999)})",
    }


def blank(rng: np.random.Generator, text: str, share: float, mark: str = "") -> str:
    return mark if rng.random() < share else text


def to_csv(rows: list[dict[str, str]], header: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, header, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main() -> None:
    rng = np.random.default_rng(SEED)
    rows = make_rows(rng, N_ROWS, 0)
    for place in rng.choice(N_ROWS, 5, replace=False):
        rows[place]["churn"] = ""
    (FOLDER / "customers.csv").write_text(to_csv(rows, HEADER), "utf-8")
    new = make_rows(rng, N_NEW, N_ROWS)
    new[0]["city"], new[1]["plan"], new[2]["age"] = "Oslo", "platinum", ""
    header = [name for name in HEADER if name != "churn"]
    (FOLDER / "new_customers.csv").write_text(to_csv(new, header), "utf-8")


if __name__ == "__main__":
    main()
