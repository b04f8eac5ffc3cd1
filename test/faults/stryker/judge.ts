/**
 * Runs a test again for every change that it reaches, in the process that it runs in: first as it is, then once a change.
 * A new process for each change, as Stryker starts one, costs a hundred times what most of these tests do.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { TestRunner } from 'vitest'
import { timesOverReached } from './bounds.ts'

type Test = Parameters<TestRunner['onAfterRetryTask']>[0]
type Try = Parameters<TestRunner['onAfterRetryTask']>[1]

/** What instrumented code looks at. */
interface Switch {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number
  hitLimit?: number
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> }
}

interface Reached {
  change: string
  times: number
}

const log = process.env.FAREBOX_STRYKER_LOG ?? ''

/** All processes share one log: what was reached, is tried, was noticed, and where a test broke. */
const write = (word: string, what: string) => appendFileSync(log, `${word} ${what}\n`)

const read = (line: RegExp) => new Set(readFileSync(log, 'utf8').match(line))

export default class Judge extends TestRunner {
  readonly #switch: Switch
  #left: Reached[] = []
  /** Null while the test runs as it is. */
  #trying: Reached | null = null
  #tries = 0
  #isBroken = false
  #hasTried = false

  constructor(config: ConstructorParameters<typeof TestRunner>[0]) {
    super(config)
    const world = globalThis as { __stryker__?: Switch }
    world.__stryker__ ??= {}
    this.#switch = world.__stryker__
  }

  override async onBeforeRunTask(test: Test): Promise<void> {
    if (this.#isBroken || read(/(?<=^judged ).+$/gm).has(test.id)) test.mode = 'skip'
    await super.onBeforeRunTask(test)
    this.#left = []
    this.#trying = null
    this.#tries = 0
    // Asked after each try, as only the first one tells how many changes there are to try.
    Object.assign(test, { repeats: { valueOf: () => this.#tries } })
  }

  override onBeforeTryTask(test: Test, options: Try): void {
    super.onBeforeTryTask(test, options)
    if (test.result) test.result.errors = []
    const tried = this.#trying
    if (tried) write('try', `${test.id}/${tried.change}`)
    this.#hasTried ||= tried !== null
    this.#switch.hitCount = 0
    this.#switch.hitLimit = ((tried?.times ?? 0) + 1) * timesOverReached
    this.#switch.currentTestId = tried ? 'with a change' : test.id
    this.#switch.activeMutant = tried?.change
  }

  override async onAfterRetryTask(test: Test, options: Try): Promise<void> {
    this.#switch.activeMutant = undefined
    this.#switch.currentTestId = undefined
    await super.onAfterRetryTask(test, options)
    if (this.#goesOn(test, options.repeats === 0)) this.#tries++
    else if (!this.#isBroken) write('judged', test.id)
  }

  #goesOn(test: Test, isFirst: boolean): boolean {
    const tried = this.#trying
    const passed = test.result?.state === 'pass'
    if (tried && !passed) {
      const hung = test.result?.errors?.some(({ message }) => /timed out|Hit count limit/.test(message))
      write(hung ? 'hung' : 'killed', tried.change)
      // Once as it is, before the next change is blamed for what this one left behind.
      this.#trying = null
      return true
    }
    if (!passed) {
      // One that fails before anything was tried here is too slow to judge with, and no reason to begin again.
      this.#isBroken = test.result?.state === 'fail' && this.#hasTried
      if (this.#isBroken) write(isFirst ? 'failing' : 'broken', `${test.file.filepath} ${test.name}`)
      return false
    }
    if (isFirst) this.#left = this.#reachedBy(test)
    this.#trying = this.#left.shift() ?? null
    return this.#trying !== null
  }

  /** What this test reaches, without what was noticed by others or tried with it before. */
  #reachedBy({ id }: Test): Reached[] {
    const { static: atImport = {}, perTest = {} } = this.#switch.mutantCoverage ?? {}
    write('at-import', Object.keys(atImport).join(','))
    const reached = Object.entries(perTest[id] ?? {})
    write('reached', reached.map(([change]) => change).join(','))
    const noticed = read(/(?<=^(?:killed|hung) )\d+$/gm)
    const tried = read(/(?<=^try ).+$/gm)
    return reached
      .filter(([change]) => !noticed.has(change) && !tried.has(`${id}/${change}`))
      .map(([change, times]) => ({ change, times }))
  }
}
