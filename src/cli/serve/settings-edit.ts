import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { z } from 'zod'
import { otherLimitNames } from '#contract/limits.ts'
import { isObject } from '#contract/wire/json.ts'
import { limitScopes, type PriceSetting, type SettingsChange, type SettingsEdits } from '#pages/console/wire.ts'
import type { ConfigPath } from '#service/config/config-values.ts'
import { modelKinds } from '#service/config/model-config.ts'
import { YamlFile } from '#service/config/yaml-file.ts'
import { editYaml, type YamlEdit, YamlLayoutError } from './edit-yaml.ts'

/** The settings that owners may change in the console: prices, the plan, limits, and which models are on. */

type Raw = Readonly<Record<string, unknown>>

/** Why a change cannot be made, as a sentence. */
export class ChangeRefused extends Error {}

/** The current settings in the file. A value that comes from a variable cannot be changed here, and is left out. */
export function editableOf(text: string): Omit<SettingsEdits, 'version' | 'isLoaded'> {
  const file = mapOf(new YamlFile(text).value)
  const limits = mapOf(file.limits)
  return {
    plan: file.plan === 'partner' ? 'partner' : 'default',
    models: modelsOf(file).map(({ id, type, enabled, price }) => ({
      ...{ model: String(id), type: String(type), isOn: enabled !== false },
      prices: pricesOf(String(type), price),
    })),
    limits: limitScopes.flatMap(scope =>
      Object.entries(mapOf(limits[scope])).map(([name, counts]) => {
        const { requestsPerMinute, tokensPerMinute } = mapOf(counts)
        return {
          ...{ scope, name },
          requestsPerMinute: countOf(requestsPerMinute),
          tokensPerMinute: countOf(tokensPerMinute),
        }
      }),
    ),
    limitTypes: ['text', ...otherLimitNames],
  }
}

/** The text with the changes. Throws `ChangeRefused`; does not check whether the new values are valid. */
export async function withChanges(text: string, changes: readonly SettingsChange[]): Promise<string> {
  const file = mapOf(new YamlFile(text).value)
  try {
    return await editYaml(
      text,
      changes.flatMap(change => editsOf(file, change)),
    )
  } catch (error) {
    if (!(error instanceof YamlLayoutError)) throw error
    throw new ChangeRefused('The file is laid out so that this setting cannot be changed alone. Edit it by hand.')
  }
}

function editsOf(file: Raw, change: SettingsChange): YamlEdit[] {
  switch (change.kind) {
    case 'price':
      return priceEdits(file, change)
    case 'model':
      // Models are on by default, so the setting is present only for a model that is off.
      return [
        {
          path: ['models', indexOf(file, change.model), 'enabled'],
          value: change.isOn ? undefined : false,
        },
      ]
    case 'limit': {
      const { scope, name } = change
      if (scope === 'models') indexOf(file, name)
      return (['requestsPerMinute', 'tokensPerMinute'] as const).map(count => ({
        path: ['limits', scope, name, count],
        value: change[count] ?? undefined,
      }))
    }
    case 'plan':
      return [{ path: ['plan'], value: change.plan }]
  }
}

function priceEdits(file: Raw, { model, price: name, usd }: SettingsChange & { kind: 'price' }): YamlEdit[] {
  const index = indexOf(file, model)
  const { type, price } = modelsOf(file)[index] ?? {}
  const amount = amountsOf(price).find(({ path }) => path.join('.') === name)
  const path = amount?.path ?? name.split('.')
  const slot = slotsOf(priceOfType(String(type))).find(each => isAt(each, path))
  const isAddable = slot && usd !== null && hasGoodNames(slot, path) && valueAt(price, path) === undefined
  if (!amount && !isAddable) throw new ChangeRefused(`${model} has no price ${name} in the file.`)
  if (usd === null && !slot?.isOptional) throw new ChangeRefused(`${model} needs its price ${name}.`)
  const value = usd === null ? undefined : Number(usd)
  return amount && Number(amount.usd) === value ? [] : [{ path: ['models', index, 'price', ...path], value }]
}

function indexOf(file: Raw, model: string): number {
  const index = modelsOf(file).findIndex(({ id }) => id === model)
  if (index < 0) throw new ChangeRefused(`There is no model ${model} in the file.`)
  return index
}

const mapOf = (value: unknown): Raw => (isObject(value) ? value : {})

const modelsOf = (file: Raw): Raw[] => (Array.isArray(file.models) ? file.models.map(mapOf) : [])

const countOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** A price that the schema of a type allows. */
interface PriceSlot {
  /** A star stands for a name that the operator chooses. */
  path: readonly string[]
  isOptional: boolean
}

const chosenName = '*'
/** Such as a resolution. */
const isChosenName = (name: string): boolean => /^[A-Za-z0-9][\w-]{0,9}$/.test(name)

const priceOfType = (type: string): z.core.$ZodType | null =>
  (modelKinds.find(kind => kind.type === type)?.shape.price as z.core.$ZodType | undefined) ?? null

/** The amounts that a schema allows, in its order. */
function slotsOf(schema: z.core.$ZodType | null, path: readonly string[] = [], isOptional = false): PriceSlot[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return slotsOf(schema.unwrap(), path, true)
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, inside]) => slotsOf(inside, [...path, name], isOptional))
  if (schema instanceof z.ZodRecord) return slotsOf(schema.valueType, [...path, chosenName], true)
  // Amounts are parsed from text; a price's other settings, such as its unit, are words.
  return schema instanceof z.ZodPipe ? [{ path, isOptional }] : []
}

const isAt = ({ path: slot }: PriceSlot, path: readonly string[]): boolean =>
  slot.length === path.length && slot.every((part, at) => part === chosenName || part === path[at])

const hasGoodNames = ({ path: slot }: PriceSlot, path: readonly string[]): boolean =>
  slot.every((part, at) => part !== chosenName || isChosenName(path[at] ?? ''))

const valueAt = (inside: unknown, path: readonly string[]): unknown =>
  path.reduce((value, name) => (Object.hasOwn(mapOf(value), name) ? mapOf(value)[name] : undefined), inside)

/** The prices of the file, and those that can be added. One that comes from a variable is neither. */
function pricesOf(type: string, price: unknown): PriceSetting[] {
  const slots = slotsOf(priceOfType(type))
  const isOptional = (path: readonly string[]) => slots.some(slot => slot.isOptional && isAt(slot, path))
  return [
    ...amountsOf(price).map(({ path, usd }) => ({ name: path.join('.'), usd, isOptional: isOptional(path) })),
    ...slots
      .filter(slot => slot.isOptional && (slot.path.includes(chosenName) || valueAt(price, slot.path) === undefined))
      .map(({ path }) => ({ name: path.join('.'), usd: null, isOptional: true })),
  ]
}

const amount = /^\d+(\.\d+)?$/

/** The amounts of a price, such as `perSecondUsd`, `480p`. */
function amountsOf(price: unknown, path: readonly string[] = []): { path: readonly string[]; usd: string }[] {
  if (typeof price === 'object' && price !== null)
    return Object.entries(price).flatMap(([name, inside]) => amountsOf(inside, [...path, name]))
  const text = typeof price === 'number' || typeof price === 'string' ? String(price) : ''
  return amount.test(text) ? [{ path, usd: text }] : []
}

/** Whether the page may show the value at this path: a key, an address or a path cannot be there. */
function isShown(path: ConfigPath): boolean {
  const [first, , third] = path
  if (first === 'plan' || first === 'limits') return true
  return first === 'models' && ['id', 'type', 'enabled', 'price'].includes(String(third))
}

/** Whether the page may show the name at this path: names in an engine's own maps may be secret. */
const isNameShown = (path: ConfigPath): boolean =>
  path.length === 1 || isShown(path) || (path[0] === 'models' && path.length === 3)

/** The lines of the file as the page may show them: comments and the values of other settings are replaced by dots. */
export function shownText(text: string): string {
  const isVisible = new Uint8Array(text.length)
  const isWord = new Uint8Array(text.length)
  const mark = (node: unknown, isOpen: boolean) => {
    const [start, end] = isScalar(node) && node.range ? node.range : [0, 0]
    isWord.fill(1, start, end)
    if (isOpen) isVisible.fill(1, start, end)
  }
  const walk = (node: unknown, path: ConfigPath): void => {
    if (isMap(node))
      for (const { key, value } of node.items) {
        const inside = [...path, isScalar(key) ? String(key.value) : '']
        mark(key, isNameShown(inside))
        walk(value, inside)
      }
    else if (isSeq(node)) for (const [index, item] of node.items.entries()) walk(item, [...path, index])
    else mark(node, isShown(path))
  }
  walk(parseDocument(text).contents, [])
  let isComment = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? ''
    if (sign === '\n' || sign === '\r') isComment = false
    else if (!isWord[at] && sign === '#') isComment = true
    if (sign === '\n' || sign === '\r' || (!isWord[at] && !isComment && /[\s{}[\],:-]/.test(sign))) isVisible[at] = 1
  }
  return withDots(text, isVisible)
}

function withDots(text: string, isVisible: Uint8Array): string {
  let shown = ''
  for (let at = 0; at < text.length; at++) {
    if (isVisible[at]) shown += text[at]
    else if (isVisible[at - 1] !== 0 || at === 0) shown += '…'
  }
  return shown
}
