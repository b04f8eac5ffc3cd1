import { globSync, readFileSync } from 'node:fs'
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

test('nothing else asks the system for the name, because that fails in a container whose user has none', () => {
  const asking = globSync('src/**/*.ts').filter(path => readFileSync(path, 'utf8').includes('userInfo'))
  expect(asking.map(path => path.replaceAll('\\', '/'))).toEqual(['src/host/user-name.ts'])
})
