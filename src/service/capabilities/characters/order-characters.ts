import type { CharacterRecord } from '#contract/operations/characters.ts'
import type { CharacterSearch, ListedCharacter } from './characters.ts'

type Figures = (record: CharacterRecord) => readonly number[]

const figures: Readonly<Record<NonNullable<CharacterSearch['sortBy']>, Figures>> = {
  featured: record => [Number(record.featured), ...rated(record)],
  highestRating: ({ stats }) => [stats.averageRating],
  highlyRated: record => rated(record),
  highlyRatedAndRecent: record => [Math.round(record.stats.averageRating), Date.parse(record.updatedAt)],
  imports: ({ stats }) => [stats.imports],
  mostRecent: ({ createdAt }) => [Date.parse(createdAt)],
  ratingCount: ({ stats }) => [stats.ratingCount],
}

const rated: Figures = ({ stats }) => [stats.averageRating, stats.ratingCount]

/** By the figures of the order, the first that differs; what is alike comes by its slug, so that pages do not overlap. */
export function characterOrder({ sortBy = 'featured', sortOrder }: CharacterSearch) {
  const sign = sortOrder === 'asc' ? 1 : -1
  const of = figures[sortBy]
  return ({ record: one }: ListedCharacter, { record: other }: ListedCharacter): number => {
    const others = of(other)
    const difference = of(one)
      .map((figure, index) => figure - (others[index] ?? 0))
      .find(each => each !== 0)
    return difference === undefined ? one.slug.localeCompare(other.slug) : sign * difference
  }
}
