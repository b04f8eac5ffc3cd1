import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { entryPoints } from '../../scripts/build/entries.ts'

const doors = Object.values(packageJson.exports).filter(door => typeof door !== 'string')

test.each(doors)('the door $default has a bundle, types and a source of the same file', door => {
  const name = /^\.\/dist\/([\w-]+)\.js$/.exec(door.default)?.[1] ?? ''
  expect(door['farebox-source']).toBe(`./${entryPoints[name]}`)
  expect(door.types).toBe(`./dist/types/${entryPoints[name]?.replace(/\.ts$/, '.d.ts')}`)
})
