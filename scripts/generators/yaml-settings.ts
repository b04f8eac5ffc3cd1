import { ConfigFile } from '#service/config/config-schema.ts'
import { engineKinds, modelKinds } from '#service/config/model-config.ts'
import { type Meaning, meanings } from './yaml-meanings.ts'

/** The part of a schema that a table needs. */
interface Schema {
  description?: string | undefined
  def: {
    type: string
    shape?: Record<string, Schema>
    element?: Schema
    items?: readonly Schema[]
    entries?: Record<string, string>
    values?: readonly unknown[]
    options?: readonly Schema[]
    discriminator?: string
    innerType?: Schema
    in?: Schema
    defaultValue?: unknown
  }
  minValue?: number | null
  maxValue?: number | null
}

interface Setting {
  path: string
  value: string
  /** As the file writes it; null if the setting is required. */
  byDefault: string | null
  /** What the schema itself says, for a setting that the meanings leave out. */
  description?: string | undefined
}

const intro = [
  'Every setting of `farebox serve`. [Configure](../operations/configure.md) explains how to write, check and reload the file, and [examples/farebox.yaml](../../examples/farebox.yaml) is a file to start from.',
  'If the default is empty, the setting is off until you set it, unless its meaning names a default; `required` means that its section needs it.',
  `Write secrets only as \`\${NAME}\`.`,
].join(' ')

/** `docs/reference/farebox-yaml.md`: every setting from the schema, with the meanings of `yaml-meanings.ts`. */
export async function yamlSettingsPage(): Promise<string> {
  const used = new Set<string>()
  const { shape = {} } = unwrapped(ConfigFile as unknown as Schema).schema.def
  const { models = never('models'), ...service } = shape
  const sections = Object.entries(service).map(([name, schema]) => [name, settingsOf(name, schema)] as const)
  const plain = sections.filter(([, settings]) => settings.length === 1)
  const table = (settings: readonly Setting[], prefix = '') => tableOf(settings, prefix, used)
  const page = [
    '<!-- written by npm run generate -->',
    '# Settings of `farebox.yaml`',
    intro,
    '## Service',
    table(plain.flatMap(([, settings]) => settings)),
    ...sections
      .filter(section => !plain.includes(section))
      .flatMap(([name, settings]) => [`## \`${name}\``, table(settings)]),
    ...modelSections(models, table),
  ]
  const stale = Object.keys(meanings).filter(name => !used.has(name))
  if (stale.length > 0) throw new Error(`yaml-meanings.ts describes settings that do not exist: ${stale.join(', ')}.`)
  return `${page.join('\n\n')}\n`
}

function modelSections(models: Schema, table: (settings: readonly Setting[], prefix?: string) => string): string[] {
  const { element = never('a model') } = unwrapped(models).schema.def
  const types = unwrapped(element).schema.def.options ?? []
  const shapes = types.map(({ def }) => def.shape ?? {})
  const own = (index: number) => (modelKinds[index]?.shape ?? {}) as unknown as Record<string, Schema>
  const common = Object.entries(shapes[0] ?? {}).filter(([name]) => !(name in own(0)) && name !== 'upstreams')
  const upstreams = unwrapped(shapes[0]?.upstreams ?? never('upstreams')).schema.def.element ?? never('an upstream')
  const [first] = unwrapped(upstreams).schema.def.options ?? []
  const ofEngine = (index: number) => engineKinds[index]?.options as unknown as Record<string, Schema>
  const ofEach = Object.entries(first?.def.shape ?? {}).filter(([name]) => !(name in ofEngine(0)) && name !== 'engine')
  const rows = (entries: readonly (readonly [string, Schema])[]) =>
    entries.flatMap(([name, schema]) => settingsOf(name, schema))
  return [
    '## Models',
    'Each entry of `models` has these settings, those of its `type`, and `upstreams`.',
    table(
      rows(common).map(row =>
        row.path === 'type' ? { ...row, value: modelKinds.map(({ type }) => `\`${type}\``).join(', ') } : row,
      ),
      'model',
    ),
    ...modelKinds.flatMap(({ type }, index) => [
      `### \`type: ${type}\``,
      table(rows(Object.entries(own(index))), type),
    ]),
    '## Upstreams',
    'Each entry of a model’s `upstreams` names an `engine`, and has these settings and those of its engine.',
    table(rows(ofEach), 'upstream'),
    ...engineKinds.flatMap(({ name }, index) => {
      const settings = rows(Object.entries(ofEngine(index)))
      return [`### \`engine: ${name}\``, settings.length > 0 ? table(settings, name) : 'It has no settings of its own.']
    }),
  ]
}

function tableOf(settings: readonly Setting[], prefix: string, used: Set<string>): string {
  const lines = settings.map(({ path, value, byDefault, description }) => {
    const key = [`${prefix === '' ? '' : `${prefix}.`}${path}`, `*.${path}`].find(each => Object.hasOwn(meanings, each))
    const meaning = key === undefined ? description : meanings[key]
    if (meaning === undefined)
      throw new Error(`Nothing describes ${prefix}.${path}; add a line to yaml-meanings.ts, or use describe().`)
    if (key !== undefined) used.add(key)
    const { says, value: shown = value } = read(meaning)
    return `| \`${path}\` | ${shown} | ${byDefault ?? 'required'} | ${says} |`
  })
  return ['| Setting | Value | Default | Meaning |', '|---|---|---|---|', ...lines].join('\n')
}

const read = (meaning: Meaning): { says: string; value?: string } =>
  typeof meaning === 'string' ? { says: meaning } : { value: meaning[0], says: meaning[1] }

/** Maps that have one row. */
const whole: ReadonlySet<string> = new Set(['timeouts', 'moderation.timeouts', 'transcriber.timeouts'])

/** Returns a row for a setting, or one for each setting inside it. */
function settingsOf(path: string, given: Schema, inherited?: unknown): Setting[] {
  const { schema, isOptional, defaultValue = inherited } = unwrapped(given)
  const { type, shape, element, options = [], discriminator } = schema.def
  const inside = (members: Record<string, Schema>, at: string) =>
    Object.entries(members).flatMap(([name, each]) => settingsOf(`${at}.${name}`, each, memberOf(defaultValue, name)))
  if (shape && !whole.has(path)) return inside(shape, path)
  const elementShape = element && unwrapped(element).schema.def.shape
  if (elementShape && type === 'array') return inside(elementShape, `${path}[]`)
  const maps = options.flatMap(option => (option.def.shape ? [option.def.shape] : []))
  const canBeOff = options.some(({ def }) => def.values?.[0] === false)
  if (canBeOff || discriminator !== undefined) return inside(merged(maps, discriminator), path)
  const byDefault = defaultValue === undefined ? (isOptional ? '' : null) : shownDefault(defaultValue)
  return [{ path, value: shownValue(schema), byDefault, description: given.description ?? schema.description }]
}

/** The settings of several kinds of one map; their discriminator allows the values of all. */
function merged(maps: readonly Record<string, Schema>[], discriminator: string | undefined): Record<string, Schema> {
  const all = Object.assign({}, ...maps.toReversed()) as Record<string, Schema>
  if (discriminator === undefined) return all
  const values = maps.flatMap(map => unwrapped(map[discriminator] ?? never(discriminator)).schema.def.values ?? [])
  return { [discriminator]: { def: { type: 'literal', values } }, ...without(all, discriminator) }
}

const without = (members: Record<string, Schema>, name: string): Record<string, Schema> =>
  Object.fromEntries(Object.entries(members).filter(([each]) => each !== name))

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

/** Removes what only says whether a setting may be absent, and how it is transformed. */
function unwrapped(given: Schema): { schema: Schema; isOptional: boolean; defaultValue?: unknown } {
  let schema = given
  let isOptional = false
  let defaultValue: unknown
  for (;;) {
    const { type, innerType, in: before } = schema.def
    if (type === 'optional') isOptional = true
    if (type === 'default') defaultValue = schema.def.defaultValue
    if (type === 'pipe' && before?.def.type === 'transform') break
    const next = innerType ?? before
    if (!next) break
    schema = next
  }
  return { schema, isOptional, ...(defaultValue === undefined ? {} : { defaultValue }) }
}

function shownValue({ def, minValue, maxValue }: Schema): string {
  const { type, element, items = [], entries, values = [], options = [] } = def
  if (type === 'pipe') return 'USD'
  if (type === 'boolean') return '`true` or `false`'
  if (type === 'enum') return code(Object.values(entries ?? {}))
  if (type === 'literal') return code(values.map(String))
  if (type === 'array') return `list of ${shownValue(unwrapped(element ?? never('an element')).schema)}`
  if (type === 'tuple') return `list of ${shownValue(unwrapped(items[0] ?? never('an element')).schema)}`
  if (type === 'record') return 'map'
  if (type === 'union') return options.map(option => shownValue(unwrapped(option).schema)).join(', or ')
  if (type !== 'number') return 'text'
  const isRange = typeof minValue === 'number' && typeof maxValue === 'number'
  return isRange && maxValue < Number.MAX_SAFE_INTEGER ? `${figure(minValue)} to ${figure(maxValue)}` : 'number'
}

const figure = (value: number): string => value.toLocaleString('en')

const code = (values: readonly string[]): string => values.map(value => `\`${value}\``).join(', ')

function shownDefault(value: unknown): string {
  const address = value as { host?: unknown; port?: unknown }
  if (Array.isArray(value)) return value.length === 0 ? 'none' : code(value.map(String))
  if (typeof value === 'object' && value !== null)
    return address.host === undefined ? '' : `\`${address.host}:${address.port}\``
  if (value === '') return 'none'
  return typeof value === 'number' ? value.toLocaleString('en') : `\`${value}\``
}

function never(what: string): never {
  throw new Error(
    `The schema of farebox.yaml has changed: it lacks ${what}. Adapt scripts/generators/yaml-settings.ts.`,
  )
}
