import { describeApi } from '#contract/openapi/openapi.ts'
import { type Example, ExampleFile, exampleOf } from '#contract/operations/examples.ts'
import type { ModelRecord, ModelType } from '#contract/operations/models.ts'
import { bodyTypesOf, isIdempotent, isPaid, type Operation, readsKey } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { basePath, baseUrl } from '#contract/wire/base-url.ts'
import type { ConsentPolicy, Model } from '../models/model.ts'
import { factTable, type Html, html, page, table } from './html.ts'
import { callPrice, modelPrices } from './model-prices.ts'
import { type DescribedSchema, type SchemaRow, schemaRows } from './schema-rows.ts'

/** The facts about this service that the pages show. */
export interface ReferenceSource {
  publicUrl: string
  vendor: string
  /** Models on sale. */
  records(type: ModelType | 'all'): readonly ModelRecord[]
  models(): readonly Model[]
}

interface Described {
  parameters?: readonly { name: string; in: string; required: boolean; schema: DescribedSchema }[]
  requestBody?: { description: string; content: Readonly<Record<string, { schema: DescribedSchema }>> }
  responses: Readonly<Record<string, DescribedAnswer>>
}

interface DescribedAnswer {
  $ref?: string
  description: string
  content?: Readonly<Record<string, { schema: DescribedSchema }>>
}

interface Description {
  paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  components: {
    schemas: Readonly<Record<string, DescribedSchema>>
    responses: Readonly<Record<string, DescribedAnswer>>
  }
  tags: readonly { name: string; description: string }[]
  info: { description: string }
}

const all = operations as readonly Operation[]

/**
 * The API as pages for readers, generated from the same operations as its description, with the models of this service.
 */
export class Reference {
  readonly #source: ReferenceSource
  readonly #description: Description

  constructor(source: ReferenceSource) {
    this.#source = source
    const { vendor } = source
    this.#description = describeApi({ serverUrl: baseUrl(source), vendor }) as unknown as Description
  }

  index(): string {
    const { tags, info } = this.#description
    const policies = this.#policies()
    return page(
      'Inference API',
      html`<h1>Inference API</h1>
<p>${info.description}</p>
<p>Base URL: <code>${baseUrl(this.#source)}</code>. For code generators: <a href="${basePath}/openapi.yaml">openapi.yaml</a> (OpenAPI 3.0).</p>
${this.#gettingStarted()}
${tags.map(({ name, description }) => this.#section(name, description))}
${policies.length > 0 ? policyList(policies) : html``}`,
    )
  }

  #gettingStarted(): Html {
    return html`<h2>Credentials and credit</h2>
<p>With an API key: <code>Authorization: Bearer KEY</code>. The operator of this service creates keys with credit.
With a wallet: <code>SIGN-IN-WITH-X</code>, a signed message; credit is bought with USDC at
<a href="/docs/topUpX402Balance">POST /x402/top-up</a>. A call without credit gets a 402 that shows what is missing.</p>`
  }

  #section(tag: string, description: string): Html {
    const rows = all
      .filter(operation => operation.tag === tag)
      .map(({ id, method, path, summary }) => [
        html`<span class="method">${method}</span> <a href="/docs/${id}"><code>${path}</code></a>`,
        html`${summary}`,
      ])
    return html`<h2>${tag}</h2>
<p>${description}</p>
${table(['Operation', 'Description'], rows)}`
  }

  /** Null for an id that no operation has. */
  operation(id: string): string | null {
    const operation = all.find(each => each.id === id)
    if (!operation) return null
    const { method, path, summary } = operation
    const described = this.#description.paths[path]?.[method.toLowerCase()]
    if (!described) return null
    const types = new Set<ModelType>()
    const example = exampleOf(operation.id, type => {
      types.add(type)
      return this.#source.records(type)[0]?.id ?? 'MODEL'
    })
    return page(
      `${method} ${path}`,
      html`<p><a href="/docs">All operations</a></p>
<h1>${method} ${path}</h1>
<p>${summary}.</p>
${factTable(this.#facts(operation, [...types]))}
<h2>Example</h2>
<pre tabindex="0">${curlCommand(operation, baseUrl(this.#source), exampleRequest(operation, example))}</pre>
${this.#parameters(described)}
${this.#body(described)}
${this.#answers(described)}`,
    )
  }

  #facts(operation: Operation, types: readonly ModelType[]): [name: string, fact: Html][] {
    const rows: [string, Html][] = [['Credentials', html`${credentialsOf(operation)}`]]
    if (isPaid(operation)) rows.push(['Price', this.#price(operation, types)])
    else if (operation.charge === 'free') rows.push(['Price', html`Free.`])
    if (isIdempotent(operation))
      rows.push([
        'Retries',
        html`With an <code>Idempotency-Key</code> a repeat gets the first answer and is not charged again.`,
      ])
    return rows
  }

  #price({ id }: Operation, types: readonly ModelType[]): Html {
    const flat = callPrice(id)
    if (flat !== null) return html`${flat}`
    const records = types.flatMap(type => this.#source.records(type))
    if (records.length === 0) return html`This service has no model for it.`
    return html`${records.map(record => html`<div><code>${record.id}</code>: ${modelPrices(record).join(', ')}</div>`)}`
  }

  #parameters({ parameters = [] }: Described): Html {
    if (parameters.length === 0) return html``
    const rows = parameters.map(({ name, in: place, required, schema }) => {
      const [row] = schemaRows({ properties: { [name]: schema } }, this.#find)
      return [
        html`<code>${name}</code>`,
        html`${place}${required ? ', required' : ''}`,
        html`${row?.type ?? ''}`,
        html`${row?.rules ?? ''}`,
      ]
    })
    return html`<h2>Parameters</h2>
${table(['Name', 'In', 'Type', 'Allowed'], rows)}`
  }

  #body({ requestBody }: Described): Html {
    const contents = Object.entries(requestBody?.content ?? {})
    const [first] = contents
    if (!first) return html``
    const [, { schema }] = first
    return html`<h2>Body</h2>
<p>${contents.map(([type]) => type).join(' or ')}. ${requestBody?.description ?? ''}</p>
${memberTable(schemaRows(schema, this.#find))}`
  }

  #answers({ responses }: Described): Html {
    const rows = Object.entries(responses).map(([status, answer]) => {
      const { description } = this.#answer(answer)
      return [html`<strong>${status}</strong>`, html`${description}`]
    })
    const success = responses[200]
    const schema = success && this.#answer(success).content?.['application/json']?.schema
    const members = schema ? schemaRows(schema, this.#find) : []
    return html`<h2>Answers</h2>
${table(['Status', 'Meaning'], rows)}
${members.length > 0 ? html`<h2>Body of 200</h2>${memberTable(members)}` : html``}`
  }

  #answer(answer: DescribedAnswer): DescribedAnswer {
    const name = answer.$ref?.split('/').at(-1)
    return (name !== undefined && this.#description.components.responses[name]) || answer
  }

  readonly #find = (ref: string): DescribedSchema =>
    this.#description.components.schemas[ref.split('/').at(-1) ?? ''] ?? {}

  #policies(): ConsentPolicy[] {
    const found = new Map<string, ConsentPolicy>()
    for (const model of this.#source.models())
      if (model.type === 'video' && model.consent) found.set(model.consent.provider, model.consent)
    return [...found.values()]
  }

  /** The consent policy of a provider; null if no model asks for one. */
  policy(provider: string): string | null {
    const policy = this.#policies().find(each => each.provider === provider)
    if (!policy) return null
    const { title, version, text } = policy
    return page(
      title,
      html`<p><a href="/docs">All operations</a></p>
<h1>${title}</h1>
<p class="note">Version ${version}. A request with media that show a face needs this consent, given by the user, as
<code>consents.${provider}</code>.</p>
<pre class="text">${text}</pre>`,
    )
  }
}

const policyList = (policies: readonly ConsentPolicy[]): Html =>
  html`<h2>Consent policies</h2>
<ul>${policies.map(({ provider, title }) => html`<li><a href="/policies/${provider}">${title}</a></li>`)}</ul>`

const memberTable = (rows: readonly SchemaRow[]): Html =>
  table(
    ['Member', 'Type', 'Allowed'],
    rows.map(({ name, type, isRequired, rules }) => [
      html`<code>${name}</code>${isRequired ? html` <span class="note">required</span>` : html``}`,
      html`${type}`,
      html`${rules}`,
    ]),
  )

interface ExampleRequest {
  method: string
  /** Below the base URL, with parameters and query. */
  path: string
  /** JSON, or the fields of a form. */
  body: { json: unknown } | { form: readonly (readonly [name: string, value: string | ExampleFile])[] } | null
}

export function exampleRequest(operation: Operation, { params, query, body }: Example): ExampleRequest {
  const given = params as Readonly<Record<string, string>> | undefined
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given?.[name] ?? name))
  const search = new URLSearchParams(
    Object.entries(query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return {
    method: operation.method,
    path: search.size > 0 ? `${path}?${search}` : path,
    body: body === undefined ? null : bodyOf(operation, body),
  }
}

function bodyOf(operation: Operation, body: unknown): ExampleRequest['body'] {
  if (bodyTypesOf(operation).includes('json')) return { json: body }
  const fields = Object.entries(body as Readonly<Record<string, unknown>>)
  return { form: fields.map(([name, value]) => [name, value instanceof ExampleFile ? value : String(value)] as const) }
}

/** The example as a command, with `$FAREBOX_KEY` where a key is needed. */
function curlCommand(operation: Operation, base: string, { method, path, body }: ExampleRequest): string {
  const parts = [method === 'GET' ? `curl ${quoted(base + path)}` : `curl -X ${method} ${quoted(base + path)}`]
  if (operation.auth.includes('apiKey')) parts.push('-H "Authorization: Bearer $FAREBOX_KEY"')
  else if (operation.auth.includes('wallet')) parts.push('-H "SIGN-IN-WITH-X: $SIGN_IN"')
  if (body && 'json' in body) {
    parts.push(`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted(JSON.stringify(body.json, null, 2))}`)
  }
  if (body && 'form' in body) {
    for (const [name, value] of body.form)
      parts.push(`-F ${quoted(`${name}=${value instanceof ExampleFile ? `@${value.name}` : value}`)}`)
  }
  if (answersBytes(operation)) parts.push('-o answer')
  return parts.join(' \\\n  ')
}

/** Whether the example's answer is a file instead of JSON. */
const answersBytes = ({ answer }: Operation): boolean => answer.bytes !== undefined && answer.json === undefined

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The accepted credentials, as a sentence. */
function credentialsOf(operation: Operation): string {
  if (operation.adminKey) return 'An API key with the role ADMIN.'
  if (operation.auth.length === 2) return 'An API key, or a wallet sign-in.'
  if (operation.auth[0] === 'apiKey') return 'An API key.'
  if (operation.auth[0] === 'wallet') return 'A wallet sign-in.'
  return readsKey(operation) ? 'None; with an API key, its own limits apply.' : 'None.'
}
