import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { rules } from './architecture/rules.ts'
import { parseFile } from './architecture/source-file.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const folders = '{src,tools,prompts,resources,pages,test,bench,scripts,examples,bin}'

const files = globSync([`${folders}/**/*.{ts,tsx,mjs}`, '*.ts'], { cwd: root })
  .map(path => path.replaceAll('\\', '/'))
  .sort()
  .map(path => parseFile({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))

test('the sources are found', () => {
  expect(files.map(file => file.path)).toContain('src/contract/money.ts')
})

test.each(Object.entries(rules))('%s', (_sentence, rule) => {
  expect(rule(files).map(({ path, line, message }) => `${path}:${line} ${message}`)).toEqual([])
})
