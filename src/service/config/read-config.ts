import { readFileSync, statSync } from 'node:fs'
import type { z } from 'zod'
import { describeIssues } from '#contract/errors/issues.ts'
import { nearNames } from '#contract/near-names.ts'
import { decodedText } from '#host/files.ts'
import { paymentOptionsOf } from '#payments/rails/rails.ts'
import { Catalogue } from '../models/catalogue.ts'
import type { Model } from '../models/model.ts'
import { ConfigFile } from './config-schema.ts'
import {
  type ConfigFault,
  type ConfigPath,
  ConfigRefused,
  faultsTold,
  foundCharacters,
  valueFileBytes,
} from './config-values.ts'
import type { ModelConfig } from './model-config.ts'
import { openModel, type Surroundings } from './open-models.ts'
import { paymentSettings } from './payment-config.ts'
import { YamlFile } from './yaml-file.ts'

export interface Config {
  file: ConfigFile
  /** Values of variables that must be kept out of logs. */
  secrets: ReadonlySet<string>
  /** Creates the models with their engines. Throws `ConfigRefused` if they are invalid. */
  openModels(around: Surroundings): Model[]
  /** Throws `ConfigRefused` if a payment key cannot be read. */
  checkPayments(): void
}

/** Parses a configuration. Throws `ConfigRefused` with every fault and its place. */
export function readConfig(text: string, environment: Environment): Config {
  const yaml = new YamlFile(text)
  const filled = fillIn(yaml.value ?? {}, environment)
  const early = filled.faults.map(({ path, sentence }) => yaml.fault(path, sentence))
  // It is parsed once, and compiling the schema would take longer.
  const parsed = ConfigFile.safeParse(filled.value, { jitless: true })
  const late = parsed.success ? [] : schemaFaults(yaml, parsed.error, filled)
  // A missing variable is not also reported as a value of the wrong kind.
  const reported = new Set(early.map(({ field }) => field))
  const faults = [...early, ...late.filter(({ field }) => !reported.has(field))].sort(inOrder)
  if (faults.length || !parsed.success) throw new ConfigRefused(faults.slice(0, faultsTold))
  const file = parsed.data
  return {
    file,
    secrets: filled.secrets,
    openModels: around => openModels(file, yaml, around),
    checkPayments: () => checkPayments(file, yaml),
  }
}

const inOrder = (one: ConfigFault, other: ConfigFault): number => one.line - other.line || one.column - other.column

function checkPayments({ payments }: ConfigFile, yaml: YamlFile): void {
  if (!payments) return
  try {
    paymentOptionsOf(paymentSettings(payments))
  } catch (error) {
    throw new ConfigRefused([
      yaml.fault(['payments', 'solana'], error instanceof Error ? error.message : String(error)),
    ])
  }
}

function openModels(file: ConfigFile, yaml: YamlFile, around: Surroundings): Model[] {
  const faults: ConfigFault[] = []
  const attempt = <Value>(path: ConfigPath, run: () => Value): Value | null => {
    try {
      return run()
    } catch (error) {
      faults.push(yaml.fault(path, error instanceof Error ? error.message : String(error)))
      return null
    }
  }
  const models = (file.models as unknown as ModelConfig[]).flatMap((config, index) => {
    const model = attempt(['models', index], () => openModel(config, around))
    return model ? [model] : []
  })
  if (!faults.length) attempt(['models'], () => new Catalogue(models))
  if (!faults.length) return models
  for (const model of models) model.close?.().catch(() => undefined)
  throw new ConfigRefused(faults)
}

function schemaFaults(yaml: YamlFile, error: z.ZodError, { value, given }: FilledIn): ConfigFault[] {
  const { issues = [] } = describeIssues(error, value)
  const unknown = error.issues.flatMap(issue => {
    if (issue.code !== 'unrecognized_keys') return []
    const path = issue.path as (string | number)[]
    return issue.keys.map(key => yaml.faultOfKey(path, key, unknownName(key, namesAt(path, value))))
  })
  const others = issues.flatMap(({ code, path, message }) => {
    if (code === 'unrecognized_keys') return []
    const place = path as ConfigPath
    const found = valueAt(value, place)
    return [yaml.fault(place, `${message}${found === undefined ? '' : `; found ${shown(found, given)}`}.`)]
  })
  return [...unknown, ...others]
}

/** Describes a list or map only by its kind, and a variable's value not at all, because it may be a secret. */
function shown(found: unknown, given: ReadonlySet<string>): string {
  if (Array.isArray(found)) return 'a list'
  if (found === null) return 'nothing'
  if (typeof found === 'object') return 'a map'
  if (typeof found === 'string' && [...given].some(value => found.includes(value))) return 'the value of its variable'
  return JSON.stringify(found).slice(0, foundCharacters)
}

function unknownName(key: string, names: readonly string[]): string {
  const [near] = nearNames(key, names, 1)
  return near ? `Unknown setting; did you mean ${near}?` : `Unknown setting; the settings are ${names.join(', ')}.`
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let inside = value
  for (const part of path) {
    if (typeof inside !== 'object' || inside === null || !Object.hasOwn(inside, part)) return undefined
    inside = (inside as Record<string | number, unknown>)[part]
  }
  return inside
}

/** Returns the known names in the map at a path, according to the schema. */
function namesAt(path: ConfigPath, value: unknown): readonly string[] {
  let schema: AnySchema | undefined = ConfigFile as unknown as AnySchema
  let inside: unknown = value
  for (const part of path) {
    schema = optionOf(schema, inside)
    schema = typeof part === 'number' ? schema?.def.element : (schema?.def.shape?.[part] ?? schema?.def.valueType)
    inside = valueAt(inside, [part])
  }
  const { shape, keyType } = optionOf(schema, inside)?.def ?? {}
  return Object.keys(shape ?? keyType?.def.entries ?? {})
}

interface AnySchema {
  def: {
    shape?: Record<string, AnySchema>
    element?: AnySchema
    /** For a record: its names, if given, and its values. */
    keyType?: AnySchema
    entries?: object
    valueType?: AnySchema
    innerType?: AnySchema
    in?: AnySchema
    options?: readonly AnySchema[]
    discriminator?: string
    values?: readonly unknown[]
  }
}

/** Unwraps a schema, and picks the option of a union that the value selects. */
function optionOf(schema: AnySchema | undefined, value: unknown): AnySchema | undefined {
  let plain = schema
  while (plain && !plain.def.shape && !plain.def.element && !plain.def.valueType && !plain.def.options) {
    const inner: AnySchema | undefined = plain.def.innerType ?? plain.def.in
    if (!inner) return plain
    plain = inner
  }
  const { discriminator, options } = plain?.def ?? {}
  if (!discriminator || !options) return plain
  const chosen = valueAt(value, [discriminator])
  return options.find(option => option.def.shape?.[discriminator]?.def.values?.includes(chosen)) ?? plain
}

export type Environment = Readonly<Record<string, string | undefined>>

/** What is wrong, and where. */
interface Found {
  path: ConfigPath
  sentence: string
}

export interface FilledIn {
  value: unknown
  faults: readonly Found[]
  /** Values from variables. */
  given: ReadonlySet<string>
  /** Those of them to keep out of logs: secrets, and addresses, which often contain a key. */
  secrets: ReadonlySet<string>
}

const reference = /\$\{([^}]*)\}/g
const variableName = /^[A-Z_][A-Z0-9_]*$/

/** Names of members with a secret: `apiKey`, `token`, `authorization`, `secrets`. */
const secretName = /(Key|Token|Secret|Password|Authorization)$|^(key|token|secrets?|password|authorization)$/

/** Replaces `${NAME}` with values from the environment; this is the only way in which a secret may be in the file. */
export function fillIn(value: unknown, environment: Environment): FilledIn {
  const faults: Found[] = []
  const given = new Set<string>()
  const secrets = new Set<string>()
  const walk = (inside: unknown, path: ConfigPath, isSecret: boolean): unknown => {
    if (Array.isArray(inside)) return inside.map((item, index) => walk(item, [...path, index], isSecret))
    if (typeof inside === 'object' && inside !== null) {
      const entries = Object.entries(inside)
      return Object.fromEntries(
        entries.map(([name, item]) => [name, walk(item, [...path, name], secretName.test(name))]),
      )
    }
    const isReferred = typeof inside === 'string' && /^\$\{[^}]*\}$/.test(inside)
    if (isSecret && typeof inside === 'string' && !isReferred) {
      faults.push({ path, sentence: `This is a secret in plain text; write \${NAME}, and set that variable.` })
      return inside
    }
    if (typeof inside !== 'string') return inside
    if (hasPassword(inside)) {
      faults.push({
        path,
        sentence: `This address contains a password; write \${NAME}, and set that variable to the address.`,
      })
      return inside
    }
    return inside.replaceAll(reference, (whole, name: string) => {
      const found = valueOfVariable(name, environment)
      if ('sentence' in found) faults.push({ path, sentence: found.sentence })
      // Left as written, so that a rule about several settings treats this one as set.
      if (!('value' in found)) return whole
      given.add(found.value)
      if (isSecret || URL.canParse(found.value)) secrets.add(found.value)
      return found.value
    })
  }
  return { value: walk(value, [], false), faults, given, secrets }
}

const hasPassword = (text: string): boolean => URL.canParse(text) && new URL(text).password !== ''

/** Reads the variable, or the file that `NAME_FILE` names, which is reread at each reload. */
function valueOfVariable(name: string, environment: Environment): { value: string } | { sentence: string } {
  if (!variableName.test(name)) {
    return { sentence: `\${${name}} is not a variable name; use capitals, such as \${OPENAI_API_KEY}.` }
  }
  const value = environment[name]
  if (value) return { value }
  const file = environment[`${name}_FILE`]
  if (!file) return { sentence: `The variable ${name} is not set (nor ${name}_FILE).` }
  try {
    if (statSync(file).size > valueFileBytes) return { sentence: `The file that ${name}_FILE names is too large.` }
    const text = decodedText(readFileSync(file)).trim()
    return text ? { value: text } : { sentence: `The file that ${name}_FILE names is empty.` }
  } catch {
    return { sentence: `The file that ${name}_FILE names cannot be read.` }
  }
}
