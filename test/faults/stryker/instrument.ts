/** Stryker's own changes: it writes every one of them into the source, behind a switch that chooses one while it runs. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Change {
  id: string
  fileName: string
  mutatorName: string
  replacement: string
  location: { start: { line: number; column: number }; end: { line: number; column: number } }
  /** `Ignored` where it is of a kind that is left out. */
  status?: string
}

interface Instrumenter {
  instrument(
    files: readonly { name: string; content: string; mutate: boolean }[],
    options: object,
  ): Promise<{ files: { name: string; content: string }[]; mutants: Change[] }>
}

interface Injector {
  provideValue(name: string, value: unknown): Injector
  injectFunction(make: unknown): Instrumenter
}

/** Words for people and names of things are no behaviour that a test should pin. */
const leftOut = ['StringLiteral']

/** Writes the changes into the files of `tree` and answers which they are. */
export async function instrument(tree: string, tools: string, files: readonly string[]): Promise<Change[]> {
  const { createInstrumenter } = await packageOf(tools, '@stryker-mutator/instrumenter/dist/src/index.js')
  const { createInjector } = await packageOf(tools, 'typed-inject/dist/src/index.js')
  const silent = () => undefined
  const log = { isDebugEnabled: () => false, isTraceEnabled: () => false }
  const logger = { ...log, trace: silent, debug: silent, info: silent, warn: silent, error: silent }
  const injector = (createInjector as () => Injector)().provideValue('options', {}).provideValue('logger', logger)
  const instrumenter = injector.injectFunction(createInstrumenter)
  const sources = await Promise.all(
    files.map(async name => ({ name, content: await readFile(join(tree, name), 'utf8'), mutate: true })),
  )
  const options = { plugins: null, excludedMutations: leftOut, ignorers: [], noHeader: false }
  const { files: written, mutants } = await instrumenter.instrument(sources, options)
  for (const { name, content } of written) await writeFile(join(tree, name), content)
  return mutants
}

const packageOf = (tools: string, path: string): Promise<Record<string, unknown>> =>
  import(pathToFileURL(join(tools, 'node_modules', path)).href)
