import { z } from 'zod'
import { callerFailures, StandardError } from '../errors/failures.ts'
import { answerListOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** Personas for a chat (published contract §6.3, preview). */

export const CharacterRecord = z
  .strictObject({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    author: z.string(),
    modelId: z.string(),
    tags: answerListOf(z.string()),
    adult: z.boolean(),
    featured: z.boolean(),
    webEnabled: z.boolean(),
    photoUrl: z.string().nullable(),
    shareUrl: z.string().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
    stats: z.strictObject({
      averageRating: z.number(),
      imports: z.number(),
      ratingCount: z.number(),
      ratingSum: z.number(),
      userRating: z.number().nullable(),
    }),
  })
  .meta({ id: 'Character' })
export type CharacterRecord = z.output<typeof CharacterRecord>

const characterSorts = [
  'featured',
  'highestRating',
  'highlyRated',
  'highlyRatedAndRecent',
  'imports',
  'mostRecent',
  'ratingCount',
] as const

const filterNames = 20

/** Names, listed one by one or separated by commas. */
const Names = z
  .union([z.string(), z.array(z.string()).max(filterNames)])
  .transform(given => (Array.isArray(given) ? given : [given]).flatMap(each => each.split(',')))
  .transform(names => names.map(name => name.trim()).filter(Boolean))
  .pipe(z.array(z.string()).max(filterNames))

const Flag = z.enum(['true', 'false']).transform(word => word === 'true')

export const CharacterQuery = z.object({
  search: z.string().max(200).optional(),
  categories: Names.optional(),
  tags: Names.optional(),
  modelId: Names.optional(),
  isAdult: Flag.optional(),
  isPro: Flag.optional(),
  isWebEnabled: Flag.optional(),
  sortBy: z.enum(characterSorts).optional(),
  sortOrder: z.enum(['asc', 'desc']).default('desc'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  offset: z.coerce.number().int().min(0).default(0),
})
export type CharacterQuery = z.output<typeof CharacterQuery>

export const CharacterList = z
  .strictObject({ object: z.literal('list'), data: answerListOf(CharacterRecord) })
  .meta({ id: 'Characters' })

export const OneCharacter = z
  .strictObject({ object: z.literal('character'), data: CharacterRecord })
  .meta({ id: 'OneCharacter' })

export const CharacterReviews = z
  .strictObject({
    object: z.literal('list'),
    data: answerListOf(
      z.strictObject({
        id: z.string(),
        characterId: z.string(),
        username: z.string(),
        userAvatarUrl: z.string().nullable(),
        rating: z.number().int().min(1).max(5),
        message: z.string().nullable(),
        locale: z.string().nullable(),
        isOwner: z.boolean(),
        createdAt: z.string(),
      }),
    ),
    pagination: z.strictObject({
      page: z.number().int().min(1),
      pageSize: z.number().int().min(1),
      total: z.number().int().min(0),
      totalPages: z.number().int().min(0),
    }),
    summary: z.strictObject({ averageRating: z.number(), totalReviews: z.number().int().min(0) }),
  })
  .meta({ id: 'CharacterReviews' })
export type CharacterReviews = z.output<typeof CharacterReviews>

const slug = z.object({ slug: z.string().min(1).max(200) })

const read = {
  method: 'GET',
  tag: 'Characters',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'read',
} as const

export const listCharacters = defineOperation({
  ...read,
  id: 'listCharacters',
  path: '/characters',
  summary: 'Characters, searched and sorted (preview)',
  request: { query: CharacterQuery },
  answer: { json: CharacterList },
  failures: callerFailures,
})

export const getCharacter = defineOperation({
  ...read,
  id: 'getCharacterBySlug',
  path: '/characters/{slug}',
  summary: 'One character (preview)',
  request: { params: slug },
  answer: { json: OneCharacter },
  failures: { ...callerFailures, 404: StandardError },
})

export const getCharacterReviews = defineOperation({
  ...read,
  id: 'getCharacterReviews',
  path: '/characters/{slug}/reviews',
  summary: 'Reviews of a character, newest first (preview)',
  request: {
    params: slug,
    query: z.object({
      page: z.coerce.number().int().min(1).default(1),
      pageSize: z.coerce.number().int().min(1).max(100).default(20),
    }),
  },
  answer: {
    json: CharacterReviews,
    headers: ['x-pagination-limit', 'x-pagination-page', 'x-pagination-total', 'x-pagination-total-pages'],
  },
  failures: { ...callerFailures, 404: StandardError },
})
