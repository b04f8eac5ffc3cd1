import { openService } from '../service/open-service.ts'
import { answered, byUser, misusedPage, type PageMistake } from './page-mistake.ts'

type Opened = Awaited<ReturnType<typeof open>>

async function open() {
  const service = await openService()
  return { service, names: [], close: service.close }
}

const visited = (what: string, path: string, status: number, init: RequestInit = {}): PageMistake<Opened> => [
  what,
  async ({ service }) => answered(await service.request(path, { headers: byUser, ...init })),
  status,
]

const mistakes: readonly PageMistake<Opened>[] = [
  visited('an unknown page', '/dashboard', 404),
  visited('an unknown operation', '/docs/none', 404),
  visited('an operation by its path', '/docs/chat/completions', 404),
  visited('a slash at the end', '/docs/', 404),
  visited('an unknown policy', '/policies/none', 404),
  visited('no policy', '/policies', 404),
  visited('markup as a page', '/docs/%3Cimg%20src=x%3E', 404),
  visited('half a percent sign', '/docs/%E0%A4%A', 404),
  visited('a form that is sent to a page', '/docs', 405, { method: 'POST', body: 'a=b' }),
  visited('a policy that is deleted', '/policies/demo', 405, { method: 'DELETE' }),
  visited('an unknown page, by a program', '/docs/none', 404, { headers: { accept: '*/*' } }),
  visited('an operation that is opened as a page', '/api/v1/chat/completions', 405),
  [
    'an address that the API has blocked',
    async ({ service }) => {
      for (let sent = 0; sent < 22; sent++) await service.request('/api/v1/chat/completions', { method: 'POST' })
      return answered(await service.request('/docs', { headers: byUser }))
    },
    429,
  ],
]

export const apiPages = misusedPage('the pages of the API', open, mistakes)
