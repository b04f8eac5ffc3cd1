import { createHash } from 'node:crypto'
import { characterNotFound } from '#contract/errors/errors.ts'
import type { CharacterQuery, CharacterRecord, CharacterReviews } from '#contract/operations/characters.ts'

/** A persona as the operator configured it. */
export interface Character {
  /** Its name in paths and requests: letters, digits, `-`, `_`. */
  slug: string
  name: string
  description?: string
  /** Instructions that come before the caller's own; never shown. */
  instructions: string
  /** The model for which it was written; a request may name another one. */
  modelId: string
  tags?: readonly string[]
  categories?: readonly string[]
  /** Shown as its author, so use a pseudonym; `operator` by default. */
  author?: string
  adult?: boolean
  featured?: boolean
  webEnabled?: boolean
  photoUrl?: string
  shareUrl?: string
  /** ISO 8601. */
  createdAt: string
  updatedAt?: string
  imports?: number
  reviews?: readonly CharacterReview[]
}

export interface CharacterReview {
  username: string
  /** 1 to 5. */
  rating: number
  message?: string
  locale?: string
  /** ISO 8601. */
  createdAt: string
}

/** What to search for, and in which order. */
type CharacterSearch = Omit<CharacterQuery, 'limit' | 'offset'>

/** A character, and its public record. */
interface ListedCharacter {
  character: Character
  record: CharacterRecord
}

const slugPattern = /^[\w-]{1,100}$/

/** The personas of this service. Built once at startup; throws a sentence if one is inconsistent. */
export class Characters {
  readonly #listed = new Map<string, ListedCharacter>()

  constructor(characters: readonly Character[] = []) {
    for (const character of characters) {
      check(character)
      if (this.#listed.has(character.slug)) throw new Error(`Two characters share the slug ${character.slug}.`)
      this.#listed.set(character.slug, { character, record: recordOf(character) })
    }
  }

  /** Throws `characterNotFound`. */
  named(slug: string): Character {
    return this.#of(slug).character
  }

  /** Throws `characterNotFound`. */
  record(slug: string): CharacterRecord {
    return this.#of(slug).record
  }

  list({ limit, offset, ...search }: CharacterQuery): CharacterRecord[] {
    return [...this.#listed.values()]
      .filter(each => matches(each, search))
      .sort(characterOrder(search))
      .slice(offset, offset + limit)
      .map(({ record }) => record)
  }

  /** Returns reviews, newest first. Throws `characterNotFound`. */
  reviews(slug: string, { page, pageSize }: { page: number; pageSize: number }): CharacterReviews {
    const { character, record } = this.#of(slug)
    const all = [...(character.reviews ?? [])].sort((one, other) => other.createdAt.localeCompare(one.createdAt))
    const first = (page - 1) * pageSize
    const data = all.slice(first, first + pageSize).map(({ username, rating, message, locale, createdAt }) => ({
      id: uuidOf(`${record.id} ${username} ${createdAt}`),
      characterId: record.id,
      username,
      userAvatarUrl: null,
      rating,
      message: message ?? null,
      locale: locale ?? null,
      isOwner: false,
      createdAt,
    }))
    return {
      object: 'list',
      data,
      pagination: { page, pageSize, total: all.length, totalPages: Math.ceil(all.length / pageSize) },
      summary: { averageRating: record.stats.averageRating, totalReviews: all.length },
    }
  }

  #of(slug: string): ListedCharacter {
    const listed = this.#listed.get(slug)
    if (!listed) throw characterNotFound()
    return listed
  }
}

function check({ slug, instructions, createdAt, reviews = [] }: Character): void {
  if (!slugPattern.test(slug)) throw new Error(`${JSON.stringify(slug)} cannot be the slug of a character.`)
  if (instructions === '') throw new Error(`Character ${slug} needs instructions.`)
  const dates = [createdAt, ...reviews.map(review => review.createdAt)]
  if (dates.some(date => Number.isNaN(Date.parse(date)))) throw new Error(`Character ${slug} has an invalid date.`)
  if (reviews.some(({ rating }) => !(Number.isInteger(rating) && rating >= 1 && rating <= 5))) {
    throw new Error(`Character ${slug} has a rating that is not one of 1, 2, 3, 4, 5.`)
  }
}

function recordOf(character: Character): CharacterRecord {
  const { slug, name, modelId, createdAt, reviews = [] } = character
  const ratingSum = reviews.reduce((sum, { rating }) => sum + rating, 0)
  return {
    id: uuidOf(slug),
    slug,
    name,
    description: character.description ?? null,
    author: character.author ?? 'operator',
    modelId,
    tags: [...(character.tags ?? [])],
    adult: character.adult ?? false,
    featured: character.featured ?? false,
    webEnabled: character.webEnabled ?? false,
    photoUrl: character.photoUrl ?? null,
    shareUrl: character.shareUrl ?? null,
    createdAt,
    updatedAt: character.updatedAt ?? createdAt,
    stats: {
      averageRating: reviews.length ? Math.round((ratingSum / reviews.length) * 100) / 100 : 0,
      imports: character.imports ?? 0,
      ratingCount: reviews.length,
      ratingSum,
      userRating: null,
    },
  }
}

/** Derives the id from the name, because characters are not stored and must keep their ids (RFC 9562, version 8). */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Every given filter must match; for a filter with several names, one of them. */
function matches({ character, record }: ListedCharacter, search: CharacterSearch): boolean {
  // This service has no models for special plans, so no character uses one.
  if (search.isPro) return false
  if (search.isAdult !== undefined && record.adult !== search.isAdult) return false
  if (search.isWebEnabled !== undefined && record.webEnabled !== search.isWebEnabled) return false
  return (
    hasOne(record.tags, search.tags) &&
    hasOne(character.categories ?? [], search.categories) &&
    hasOne([record.modelId], search.modelId) &&
    isFound(record, search.search ?? '')
  )
}

const hasOne = (names: readonly string[], wanted: readonly string[] | undefined): boolean =>
  !wanted?.length || names.some(name => wanted.some(each => each.toLowerCase() === name.toLowerCase()))

/** Searches name, description and tags; `#` searches only tags. */
function isFound({ name, description, tags }: ListedCharacter['record'], search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const plainTags = tags.map(tag => tag.toLowerCase())
  const text = [name, description ?? '', ...tags].join('\n').toLowerCase()
  return words.every(word => (word.startsWith('#') ? plainTags.includes(word.slice(1)) : text.includes(word)))
}

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

/** Sorts by the first criterion that differs, then by slug, so that pages do not overlap. */
function characterOrder({ sortBy = 'featured', sortOrder }: CharacterSearch) {
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

const createdAt = '2026-11-01T00:00:00.000Z'

/** Reviews as an owner might have collected them, to demonstrate a list of reviews. */
const review = (username: string, rating: number, message: string, day: number): CharacterReview => ({
  username,
  rating,
  message: `A demonstration review: ${message}`,
  locale: 'en',
  createdAt: `2026-11-0${day}T12:00:00.000Z`,
})

/** Two personas whose texts say that they are demonstrations. */
export const demoCharacters: readonly Character[] = [
  {
    slug: 'demo-guide',
    name: 'Demo guide',
    description: 'A demonstration character: explains one thing at a time, in plain words.',
    instructions:
      'You are a patient guide. Explain one thing at a time in plain words, and end with the next step. Say that you are a demonstration when you are asked who you are.',
    modelId: 'demo-chat',
    tags: ['demo', 'guide'],
    categories: ['demonstration'],
    author: 'farebox',
    featured: true,
    createdAt,
    reviews: [review('demo-ada', 5, 'one step at a time.', 2), review('demo-bob', 4, 'plain words.', 3)],
  },
  {
    slug: 'demo-critic',
    name: 'Demo critic',
    description: 'A demonstration character: finds the weak points of a text and says how to fix them.',
    instructions:
      'You are a friendly critic. Name the weakest point of what you are shown, and one way to fix it. Say that you are a demonstration when you are asked who you are.',
    modelId: 'demo-chat',
    tags: ['demo', 'writing'],
    categories: ['demonstration'],
    author: 'farebox',
    createdAt,
    reviews: [review('demo-cleo', 3, 'friendly, and strict.', 4)],
  },
]
