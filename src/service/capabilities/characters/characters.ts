import { createHash } from 'node:crypto'
import { characterNotFound } from '#contract/errors/errors.ts'
import type { CharacterQuery, CharacterRecord, CharacterReviews } from '#contract/operations/characters.ts'
import type { Character } from './character.ts'
import { matches } from './match-character.ts'
import { characterOrder } from './order-characters.ts'

/** What is looked for, and in which order it comes. */
export type CharacterSearch = Omit<CharacterQuery, 'limit' | 'offset'>

/** A character with what the contract shows of it. */
export interface ListedCharacter {
  character: Character
  record: CharacterRecord
}

const slugPattern = /^[\w-]{1,100}$/

/** The personas of this service. Built once at start; throws a plain sentence where one contradicts itself. */
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

  /** Newest first. Throws `characterNotFound`. */
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
  if (dates.some(date => Number.isNaN(Date.parse(date)))) throw new Error(`Character ${slug} has a date that is none.`)
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

/** The same after every start, because nothing of a character is kept (RFC 9562, version 8). */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
