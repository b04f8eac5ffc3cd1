import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CharacterList, CharacterReviews, OneCharacter } from '#contract/operations/characters.ts'
import { DiscoveryRequired } from '#contract/wire/payment-required.ts'
import { type Character, Characters, demoCharacters } from '#service/capabilities/characters/characters.ts'
import { evmWallet, solanaWallet, type TestWallet } from '../access/identity/signed-header.ts'
import { type OpenedService, openService } from './open-service.ts'

const character = (slug: string, rest: Partial<Character> = {}): Character => ({
  slug,
  name: `Name of ${slug}`,
  instructions: `You are ${slug}.`,
  modelId: 'demo-chat',
  createdAt: '2026-01-01T00:00:00.000Z',
  ...rest,
})

const reviews = (...ratings: number[]) =>
  ratings.map((rating, index) => ({ username: `u${index}`, rating, createdAt: `2026-02-0${index + 1}T00:00:00.000Z` }))

const characters = [
  character('ada', {
    description: 'Counts and proves.',
    tags: ['Math', 'history'],
    categories: ['science'],
    featured: true,
    reviews: reviews(5, 4),
    createdAt: '2026-03-01T00:00:00.000Z',
  }),
  character('bach', { tags: ['music'], modelId: 'other-chat', webEnabled: true, imports: 9, reviews: reviews(5) }),
  character('cato', { tags: ['history'], adult: true, reviews: reviews(2, 2, 3) }),
]

const nonceReused = 'X402_SIGN_IN_NONCE_REUSED'

let service: OpenedService
let key = ''
beforeAll(async () => {
  service = await openService({ characters })
  key = await service.key(0)
})
afterAll(() => service.close())

const get = (path: string, bearer = key) =>
  service.request(`/api/v1${path}`, { headers: bearer ? { authorization: `Bearer ${bearer}` } : {} })

const slugs = async (query: string) =>
  CharacterList.parse(await (await get(`/characters${query}`)).json()).data.map(({ slug }) => slug)

describe('§6.3 GET /characters', () => {
  test.each<[what: string, query: string, expected: string[]]>([
    ['all, featured first', '', ['ada', 'bach', 'cato']],
    ['words of the name', '?search=name%20BACH', ['bach']],
    ['a word of the description', '?search=proves', ['ada']],
    ['a word of a tag', '?search=hist', ['ada', 'cato']],
    ['a hashtag is a whole tag', '?search=%23hist', []],
    ['a hashtag', '?search=%23math', ['ada']],
    ['a tag', '?tags=history', ['ada', 'cato']],
    ['several tags by commas', '?tags=music,math', ['ada', 'bach']],
    ['several tags by repeating', '?tags=music&tags=math', ['ada', 'bach']],
    ['categories', '?categories=science', ['ada']],
    ['a model', '?modelId=other-chat', ['bach']],
    ['adults', '?isAdult=true', ['cato']],
    ['no adults', '?isAdult=false', ['ada', 'bach']],
    ['web', '?isWebEnabled=true', ['bach']],
    ['pro models, which do not exist', '?isPro=true', []],
    ['not pro', '?isPro=false', ['ada', 'bach', 'cato']],
    ['the best', '?sortBy=highestRating', ['bach', 'ada', 'cato']],
    ['the worst', '?sortBy=highestRating&sortOrder=asc', ['cato', 'ada', 'bach']],
    ['the best with many ratings', '?sortBy=highlyRated', ['bach', 'ada', 'cato']],
    ['the best of late', '?sortBy=highlyRatedAndRecent', ['ada', 'bach', 'cato']],
    ['the newest', '?sortBy=mostRecent', ['ada', 'bach', 'cato']],
    ['imports', '?sortBy=imports', ['bach', 'ada', 'cato']],
    ['ratings', '?sortBy=ratingCount', ['cato', 'ada', 'bach']],
    ['a page', '?limit=1&offset=1', ['bach']],
    ['beyond the end', '?offset=9', []],
  ])('%s', async (_what, query, expected) => {
    expect(await slugs(query)).toEqual(expected)
  })

  test.each([
    '?limit=0',
    '?limit=101',
    '?offset=-1',
    '?sortBy=age',
    '?isAdult=1',
    `?search=${'x'.repeat(201)}`,
    `?tags=${'a,'.repeat(21)}`,
  ])('refuses %s', async query => {
    const response = await get(`/characters${query}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toHaveProperty('issues')
  })
})

describe('§6.3, §2.5 who may see characters', () => {
  const paths = ['/characters', '/characters/ada', '/characters/ada/reviews']

  const signedIn = async (path: string, { as = wallet, ...changes }: { as?: TestWallet; nonce: string }) => {
    const header = await as.header({
      domain: '127.0.0.1:8402',
      uri: `http://127.0.0.1:8402/api/v1${path}`,
      chain: as === wallet ? '8453' : '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      issuedAt: new Date(service.clock.now()).toISOString(),
      ...changes,
    })
    return service.request(`/api/v1${path}`, { headers: { 'sign-in-with-x': header } })
  }
  const wallet = evmWallet()

  test.each(paths)('%s: a wallet without credit sees what a key sees', async path => {
    const nonce = `a${paths.indexOf(path)}`.padStart(16, '0')
    const response = await signedIn(path, { nonce })
    expect([response.status, await response.json()]).toEqual([200, await (await get(path)).json()])
    expect(Number(response.headers.get('x-ratelimit-limit-requests'))).toBeGreaterThan(0)
    const again = await signedIn(path, { nonce })
    expect([again.status, await again.json()]).toEqual([401, expect.objectContaining({ code: nonceReused })])
  })

  test('a Solana wallet too', async () => {
    expect((await signedIn('/characters', { as: solanaWallet(), nonce: 'b'.padStart(16, '0') })).status).toBe(200)
  })

  test.each(paths)('%s: a caller with neither learns of both ways, and signs no payment', async path => {
    const response = await get(path, '')
    expect(response.status).toBe(402)
    const body = DiscoveryRequired.parse(await response.json())
    expect(body).toMatchObject({ accepts: [], extensions: { 'sign-in-with-x': {} } })
    expect(body.resource.url).toContain('/api/v1/characters')
    expect(response.headers.get('payment-required')).not.toBeNull()
  })

  test('a wrong key does not count as a wallet', async () => {
    const response = await get('/characters', 'not-a-key')
    expect([response.status, await response.json()]).toEqual([401, { error: 'Authentication failed' }])
  })
})

describe('§6.3 GET /characters/{slug}', () => {
  test('D8: shows all of it but its instructions', async () => {
    const response = await get('/characters/ada')
    const text = await response.text()
    const { data } = OneCharacter.parse(JSON.parse(text))
    expect(data).toMatchObject({ slug: 'ada', tags: ['Math', 'history'], featured: true, photoUrl: null })
    expect(data.stats).toEqual({ averageRating: 4.5, imports: 0, ratingCount: 2, ratingSum: 9, userRating: null })
    expect(data.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(text).not.toContain('You are ada')
  })

  test.each(['/characters/nobody', '/characters/nobody/reviews'])('%s is 404', async path => {
    const response = await get(path)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'No character could be found from the provided character_slug' })
  })
})

describe('§6.3 GET /characters/{slug}/reviews', () => {
  test('a page of them, newest first, with its place in headers and body', async () => {
    const response = await get('/characters/cato/reviews?page=2&pageSize=2')
    const answer = CharacterReviews.parse(await response.json())
    expect(answer.data.map(({ rating, username, message, isOwner }) => [rating, username, message, isOwner])).toEqual([
      [2, 'u0', null, false],
    ])
    expect(answer.pagination).toEqual({ page: 2, pageSize: 2, total: 3, totalPages: 2 })
    expect(answer.summary).toEqual({ averageRating: 2.33, totalReviews: 3 })
    const headers = ['limit', 'page', 'total', 'total-pages'].map(name => response.headers.get(`x-pagination-${name}`))
    expect(headers).toEqual(['2', '2', '3', '2'])
  })

  test.each(['?page=0', '?pageSize=101', '?pageSize=0', '?page=x'])('refuses %s', async query => {
    expect((await get(`/characters/ada/reviews${query}`)).status).toBe(400)
  })
})

describe('characters of the settings', () => {
  test('those of the demonstration say that they are one', () => {
    expect(demoCharacters.length).toBe(2)
    for (const each of demoCharacters) expect(each.description).toContain('demonstration')
    expect(() => new Characters(demoCharacters)).not.toThrow()
  })

  test.each<[Character[], string]>([
    [[character('ada'), character('ada')], 'share the slug ada'],
    [[character('a b')], 'cannot be the slug'],
    [[character('ada', { instructions: '' })], 'needs instructions'],
    [[character('ada', { createdAt: 'yesterday' })], 'an invalid date'],
    [[character('ada', { reviews: reviews(6) })], 'has a rating'],
  ])('%#: a contradiction is found at start', (given, words) => {
    expect(() => new Characters(given)).toThrow(words)
  })
})
