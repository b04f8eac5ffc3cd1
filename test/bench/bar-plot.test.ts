/** The plots of the benchmarks are readable: nothing covers text or exceeds the image. */
import { expect, test } from 'vitest'
import type { Figure } from '../../bench/kit/figures.ts'
import { barPlot } from '../../bench/kit/page.ts'

const metric = 'CPU, µs'
const figure = (load: string, side: string, ...rounds: number[]): Figure => ({ load, metric, side, rounds, digits: 0 })

/** A box that a reader sees. */
interface Box {
  what: string
  left: number
  right: number
  top: number
  bottom: number
}

/** Width of a character at 11 units in DejaVu Sans, the widest of the usual fonts, on average. */
const charWidth = 6.5

const texts = (svg: string): Box[] =>
  [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]*)</g)].map(
    ([, x = '', y = '', anchor = '', what = '']) => {
      const left = Number(x) - (anchor === 'end' ? what.length * charWidth : 0)
      return { what, left, right: left + what.length * charWidth, top: Number(y) - 8, bottom: Number(y) }
    },
  )

const marks = (svg: string): Box[] => [
  ...[...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="(\d+)"/g)].map(
    ([, x, y, width, height]) => ({
      ...{ what: 'bar', left: Number(x), right: Number(x) + Number(width) },
      ...{ top: Number(y), bottom: Number(y) + Number(height) },
    }),
  ),
  ...[...svg.matchAll(/<line x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)"/g)].map(([, from, to, y]) => ({
    ...{ what: 'line', left: Number(from), right: Number(to), top: Number(y), bottom: Number(y) },
  })),
]

const isOver = (one: Box, other: Box): boolean =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom

test.each<[string, Figure[]]>([
  [
    'long names of sides',
    ['serve, 10,000 open holds', 'up', 'bare pipe with a ledger', 'x'].map(s => figure('a', s, 9)),
  ],
  ['more sides than a line holds', Array.from({ length: 9 }, (_, at) => figure('a', `the side number ${at}`, 5))],
  ['long names of loads', [figure('32 connections to each of the processes', 'a', 5), figure('b', 'a', 4)]],
  ['a round beyond the longest bar', [figure('a', 'x', 974, 1026, 1264), figure('a', 'y', 90, 100, 110)]],
  ['a round far beyond every bar', [figure('a', 'x', 1, 2, 900), figure('a', 'y', 1, 1, 1)]],
])('a plot with %s', (_what, figures) => {
  const svg = barPlot(figures, metric)
  const [width = 0, height = 0] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)?.slice(1).map(Number) ?? []
  const [words, drawn] = [texts(svg), marks(svg)]
  expect(words).toHaveLength(
    figures.length + new Set(figures.map(({ side }) => side)).size + new Set(figures.map(({ load }) => load)).size,
  )
  for (const box of [...words, ...drawn]) {
    expect(box.left, box.what).toBeGreaterThanOrEqual(0)
    expect(box.right, box.what).toBeLessThanOrEqual(width)
    expect(box.bottom, box.what).toBeLessThanOrEqual(height)
  }
  for (const [at, word] of words.entries())
    for (const other of [...words.slice(at + 1), ...drawn])
      expect([word.what, other.what, isOver(word, other)]).toEqual([word.what, other.what, false])
})
