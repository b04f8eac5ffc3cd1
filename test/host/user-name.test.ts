import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { userName } from '#host/user-name.ts'

test('a user is called by name, and one that has none by number', () => {
  expect(userName()).toBe(userInfo().username)
  const nameless = () => {
    throw new Error('uv_os_get_passwd returned ENOENT')
  }
  expect(userName(nameless)).toMatch(/^user (\d+|without a name)$/)
})
