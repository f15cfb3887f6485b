"""Accessibility trees: the page as a person reads it, and the ids of what can be acted on."""

from __future__ import annotations

from shaping.noise import reduce_text

TREE = """### Page
- Page URL: http://x.dev/
- Page Title: A page
### Snapshot
```yaml
- generic [active] [ref=e1]:
  - navigation "main" [ref=e2]:
    - list [ref=e3]:
      - listitem [ref=e4]:
        - link "next" [ref=e5] [cursor=pointer]:
          - /url: next.html
        - text: "|"
      - listitem [ref=e6]:
        - button "Go: now" [ref=e7]
  - generic [ref=e8]:
    - generic [ref=e9]:
      - paragraph [ref=e10]:
        - text: See
        - link [ref=e11] [cursor=pointer]:
          - /url: https://x.dev/rfc
          - strong [ref=e12]: RFC 7159
        - text: ", and"
        - code [ref=e13]: json.dump()
        - text: .
      - heading "Usage" [level=2] [ref=e14]
      - generic "Hide" [ref=e15] [cursor=pointer]: ">>>"
      - 'textbox "Quick: search" [ref=e16]': typed
      - img "logo" [ref=e17]
```"""

FOLDED = """### Page
- Page URL: http://x.dev/
- Page Title: A page
### Snapshot
```yaml
- generic [active]:
 - navigation "main":
  - list:
   - [next](next.html)[ref=e5] |
   - listitem:
    - button "Go: now" [ref=e7]
 - paragraph: See [RFC 7159](https://x.dev/rfc)[ref=e11], and `json.dump()`.
 - heading "Usage" [level=2]
 - generic "Hide" [ref=e15] [cursor=pointer]: >>>
 - textbox "Quick: search" [ref=e16]: typed
 - img "logo"
```"""


def test_wrappers_fold_and_sentences_join() -> None:
    assert reduce_text(TREE, ("boilerplate",))[0] == FOLDED


def test_ids_stay_where_a_tool_takes_them() -> None:
    folded, _ = reduce_text(TREE, ("boilerplate",), arguments=frozenset({"ref"}))
    assert '- heading "Usage" [level=2] [ref=e14]' in folded
    assert "`json.dump()`[ref=e13]" in folded
    assert "[ref=e8]" not in folded


def test_a_list_that_only_mentions_ids_stays() -> None:
    text = "- see [ref=e1]\n- and [ref=e2]"
    assert reduce_text(text, ("boilerplate",)) == (text, [])


def test_a_block_that_is_no_tree_stays() -> None:
    text = TREE.replace("- generic [active] [ref=e1]:", "- 12: ?? [ref=e1]")
    assert "[next](next.html)" in reduce_text(text, ("boilerplate",))[0]


def test_links_around_other_elements_are_blocks() -> None:
    tree = TREE.replace(
        "          - strong [ref=e12]: RFC 7159",
        '          - button "Buy" [ref=e12]\n          - heading "H" [ref=e20]',
    )
    folded = reduce_text(tree, ("boilerplate",))[0]
    assert "- link [ref=e11]:\n" in folded
    assert '- button "Buy" [ref=e12]' in folded


def test_a_number_that_is_no_part_of_the_name_of_a_link_stands_in_its_words() -> None:
    tree = TREE.replace("          - strong [ref=e12]: RFC 7159", "          - strong [aria-hidden] [ref=e12]: 3.1.")
    assert "3.1." in reduce_text(tree, ("boilerplate",))[0]
    assert "[aria-hidden]" not in reduce_text(tree, ("boilerplate",))[0]


def test_the_cells_of_a_row_stand_in_one_line() -> None:
    row = """      - row "Ann {n} open Edit" [ref=e{n}1]:
        - cell "Ann" [ref=e{n}2]
        - cell "{n}" [ref=e{n}3]:
          - link "{n}" [ref=e{n}4] [cursor=pointer]:
            - /url: /orders/{n}
        - cell "open" [ref=e{n}5]
        - cell "Edit" [ref=e{n}6]:
          - button "Edit" [ref=e{n}7] [cursor=pointer]
"""
    rows = "".join(row.replace("{n}", str(n)) for n in range(4))
    labelled = '      - row "Totals" [ref=e90]:\n        - cell "4" [ref=e91]\n'
    table = f"- table [ref=e1]:\n    - rowgroup [ref=e2]:\n{rows}{labelled}"
    folded = reduce_text(table, ("boilerplate",))[0]
    assert '  - row: Ann | [2](/orders/2)[ref=e24] | open | button "Edit" [ref=e27]\n' in folded
    assert '  - row "Totals":\n   - cell "4"' in folded


def test_names_that_are_not_json_stay_as_they_are() -> None:
    tree = TREE.replace("- code [ref=e13]: json.dump()", '- code [ref=e13]: "broken \\q"')
    assert '`"broken \\q"`' in reduce_text(tree, ("boilerplate",))[0]


def test_a_tree_deeper_than_any_page_stays() -> None:
    tree = "\n".join(f"{'  ' * depth}- generic [ref=e{depth}]:" for depth in range(400))
    assert reduce_text(tree, ("boilerplate",)) == (tree, [])


def test_sentences_that_chrome_writes_in_pieces_are_whole_under_their_first_id() -> None:
    text = """## Latest page snapshot
uid=1_0 RootWebArea "Heaps" url="http://x.dev/lib/heapq.html"
  uid=1_1 "Smallest first: "
  uid=1_2 "heap[k]"
  uid=1_3 " <= "
  uid=1_4 "heap[2*k]"
  uid=1_5 "."
  uid=1_6 "The following exist:"
  uid=1_7 "heapq"
  uid=1_8 "."
  uid=1_9 "heappush("
  uid=1_10 "heap"
  uid=1_11 ")"
  uid=1_12 "Push an item."
  uid=1_13 LineBreak "
"
  uid=1_14 " "
  uid=1_18 "
    "
  uid=1_19 " |"
  uid=1_15 link "index" url="http://x.dev/index.html"
    uid=1_16 " nested"
  uid=1_17 link "elsewhere" url="http://y.dev/"
"""
    assert (
        reduce_text(text, ("boilerplate",), arguments=frozenset({"uid"}))[0]
        == """## Latest page snapshot
uid=1_0 RootWebArea "Heaps" url="http://x.dev/lib/heapq.html"
  uid=1_1 "Smallest first: heap[k] <= heap[2*k]."
  uid=1_6 "The following exist:"
  uid=1_7 "heapq.heappush(heap)"
  uid=1_12 "Push an item."
  uid=1_15 link "index" url="/index.html"
    uid=1_16 " nested"
  uid=1_17 link "elsewhere" url="http://y.dev/"
"""
    )
