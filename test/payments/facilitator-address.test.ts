/** Which addresses of a facilitator an operator may set; nothing is sent to them. */
import { describe, expect, test } from 'vitest'
import { FacilitatorHttp } from '#payments/facilitators/remote-facilitator.ts'

const to = (url: string): FacilitatorHttp =>
  new FacilitatorHttp({ url, headers: () => ({}), answerMs: { verify: 1, settle: 1, supported: 1 } })

describe('the address of a facilitator', () => {
  test.each([
    ['https://facilitator.example', 'facilitator.example'],
    ['https://facilitator.example/a/b//', 'facilitator.example'],
    ['http://localhost:1', 'localhost:1'],
    ['http://127.0.0.1:1', '127.0.0.1:1'],
    ['http://127.255.255.255', '127.255.255.255'],
    ['http://[::1]:1', '[::1]:1'],
  ])('%s is taken', (url, at) => {
    expect(to(url).host).toBe(at)
  })

  test.each([
    'http://facilitator.example',
    'http://localhost.example',
    'http://an.localhost',
    'http://127.0.0.1.example',
    'http://[::2]',
    'http://128.0.0.1',
    'ftp://localhost',
    'https://user@facilitator.example',
    'https://:word@facilitator.example',
    'https://facilitator.example?key=1',
    'https://facilitator.example#part',
    'facilitator.example',
  ])('%s is not', url => {
    expect(() => to(url)).toThrow(/must use https/)
  })
})
