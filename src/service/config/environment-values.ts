import { readFileSync, statSync } from 'node:fs'
import { valueFileBytes } from './bounds.ts'
import type { ConfigPath } from './config-fault.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What is at fault, where. */
interface Found {
  path: ConfigPath
  sentence: string
}

export interface FilledIn {
  value: unknown
  faults: readonly Found[]
  /** What variables gave. */
  given: ReadonlySet<string>
  /** What of it is to be kept out of logs: secrets, and addresses, which often hold a key. */
  secrets: ReadonlySet<string>
}

const reference = /\$\{([^}]*)\}/g
const variableName = /^[A-Z_][A-Z0-9_]*$/

/** Names of members that hold a secret: `apiKey`, `token`, `authorization`, `secrets`. */
const secretName = /(Key|Token|Secret|Password|Authorization)$|^(key|token|secrets?|password|authorization)$/

/** Puts the environment's values in the place of `${NAME}`; a secret may stand in the file in no other way. */
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
      faults.push({ path, sentence: `A secret stands here in plain; write \${NAME}, and set that variable.` })
      return inside
    }
    if (typeof inside !== 'string') return inside
    if (hasPassword(inside)) {
      faults.push({ path, sentence: `This address has a password in it; write \${NAME}, and set that variable to it.` })
      return inside
    }
    return inside.replaceAll(reference, (whole, name: string) => {
      const found = valueOfVariable(name, environment)
      if ('sentence' in found) faults.push({ path, sentence: found.sentence })
      // As it is written, so that a rule about several settings takes this one for set.
      if (!('value' in found)) return whole
      given.add(found.value)
      if (isSecret || URL.canParse(found.value)) secrets.add(found.value)
      return found.value
    })
  }
  return { value: walk(value, [], false), faults, given, secrets }
}

const hasPassword = (text: string): boolean => URL.canParse(text) && new URL(text).password !== ''

/** Of the variable, or of the file that `NAME_FILE` names: that one is read anew at each reload. */
function valueOfVariable(name: string, environment: Environment): { value: string } | { sentence: string } {
  if (!variableName.test(name)) {
    return { sentence: `\${${name}} names no variable; one is written in capitals, such as \${OPENAI_API_KEY}.` }
  }
  const value = environment[name]
  if (value) return { value }
  const file = environment[`${name}_FILE`]
  if (!file) return { sentence: `The variable ${name} is not set (nor ${name}_FILE).` }
  try {
    if (statSync(file).size > valueFileBytes) return { sentence: `The file of ${name}_FILE is too large.` }
    const text = readFileSync(file, 'utf8').trim()
    return text ? { value: text } : { sentence: `The file of ${name}_FILE is empty.` }
  } catch {
    return { sentence: `The file that ${name}_FILE names cannot be read.` }
  }
}
