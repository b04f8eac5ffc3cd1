import { z } from 'zod'
import { charactersOfService, labelCharacters, labelsOfCharacter, reviewsOfCharacter } from './bounds.ts'
import { count, HttpUrl, Moment, Text } from './config-values.ts'

const Label = z.string().min(1).max(labelCharacters)
const Labels = z.array(Label).max(labelsOfCharacter)
const Iso = Moment.transform(text => new Date(text).toISOString())

const Review = z.strictObject({
  username: Label,
  rating: count(1, 5),
  message: Text.optional(),
  locale: Label.optional(),
  createdAt: Iso,
})

const Character = z.strictObject({
  slug: z.string().regex(/^[\w-]{1,100}$/, 'letters, digits, - and _, at most 100'),
  name: Label,
  description: Text.optional(),
  /** Nobody is shown them. */
  instructions: Text.min(1),
  modelId: z.string().min(1),
  tags: Labels.optional(),
  categories: Labels.optional(),
  author: Label.optional(),
  adult: z.boolean().optional(),
  featured: z.boolean().optional(),
  webEnabled: z.boolean().optional(),
  photoUrl: HttpUrl.optional(),
  shareUrl: HttpUrl.optional(),
  createdAt: Iso,
  updatedAt: Iso.optional(),
  imports: count(0, Number.MAX_SAFE_INTEGER).optional(),
  reviews: z.array(Review).max(reviewsOfCharacter).optional(),
})

/** Personas that a chat may be answered as. */
export const CharacterConfigs = z
  .array(Character)
  .max(charactersOfService)
  .refine(all => new Set(all.map(({ slug }) => slug)).size === all.length, 'Two characters share a slug')
