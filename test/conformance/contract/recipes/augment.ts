import { demoPages } from '#engines/demo/web.ts'
import type { Asked, Recipes } from '../recipe.ts'

const document = (format?: string): Asked => {
  const body = new FormData()
  body.append('file', new File(['# A boat'], 'a.md'))
  if (format) body.append('response_format', format)
  return { body }
}
const video = { url: 'https://files.example/a.mp4' }
const anybody = 'whoever has credit may call it'

export const augmentRecipes: Recipes = {
  webSearch: {
    succeeds: [{ body: { query: 'farebox' } }, { body: { query: 'receipts', limit: 1 }, as: 'wallet' }],
    failsBy: 'books',
    unreachable: { 403: anybody },
  },
  webScrape: {
    succeeds: [{ body: { url: demoPages[0]?.url } }],
    failsBy: 'books',
    unreachable: { 403: anybody },
  },
  createTextParser: {
    succeeds: [() => document(), () => document('text')],
    reaches: { 400: { body: new FormData() } },
    failsBy: 'books',
    unreachable: { 403: anybody },
  },
  createVideoTranscription: {
    succeeds: [{ body: video }, { body: { ...video, response_format: 'text' }, as: 'wallet' }],
    failsBy: 'books',
    unreachable: { 403: anybody },
  },
}
