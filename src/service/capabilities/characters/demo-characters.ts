import type { Character, CharacterReview } from './characters.ts'

const createdAt = '2026-11-01T00:00:00.000Z'

/** As its owner might have asked around; a demonstration of what a list of reviews looks like. */
const review = (username: string, rating: number, message: string, day: number): CharacterReview => ({
  username,
  rating,
  message: `A demonstration of a review: ${message}`,
  locale: 'en',
  createdAt: `2026-11-0${day}T12:00:00.000Z`,
})

/** Two personas that say of themselves that they are demonstrations. */
export const demoCharacters: readonly Character[] = [
  {
    slug: 'demo-guide',
    name: 'Demo guide',
    description: 'A demonstration of a character: explains one thing at a time, in plain words.',
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
    description: 'A demonstration of a character: finds what is weak in a text, and says how to fix it.',
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
