import { expect, test } from 'vitest'
import { z } from 'zod'
import packageJson from '../../package.json' with { type: 'json' }
import { serverJson } from '../../scripts/generators/manifest.ts'

/** The rules of the registry's schema of 2025-12-11 for what an npm package may say; any other member is a mistake. */
const input = {
  description: z.string().min(1),
  isRequired: z.boolean(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']),
  default: z.string().min(1).optional(),
}
const exactVersion = z.string().regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
const Entry = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: exactVersion,
  packages: z
    .array(
      z.strictObject({
        registryType: z.literal('npm'),
        identifier: z.string(),
        version: exactVersion,
        runtimeHint: z.literal('npx'),
        transport: z.strictObject({ type: z.literal('stdio') }),
        packageArguments: z.array(
          z.discriminatedUnion('type', [
            z.strictObject({ type: z.literal('positional'), value: z.string() }),
            z.strictObject({ type: z.literal('named'), name: z.string().startsWith('--'), ...input }),
          ]),
        ),
        environmentVariables: z.array(
          z.strictObject({ name: z.string().regex(/^FAREBOX_[A-Z_]+$/), isSecret: z.boolean(), ...input }),
        ),
      }),
    )
    .length(1),
})

const entry = async () => Entry.parse(JSON.parse(await serverJson()))

test('the entry for the registry keeps the rules of its schema and names this package', async () => {
  const { name, version, packages } = await entry()
  expect({ name, version }).toEqual({ name: packageJson.mcpName, version: packageJson.version })
  expect(packages[0]).toMatchObject({ identifier: packageJson.name, version: packageJson.version })
})

test('what is secret says so, and has no default', async () => {
  const { packages } = await entry()
  const secret = packages.flatMap(each => each.environmentVariables.filter(({ isSecret }) => isSecret))
  expect(secret.map(({ name }) => name).sort()).toEqual([
    'FAREBOX_API_KEY',
    'FAREBOX_SOLANA_KEY',
    'FAREBOX_SOLANA_RPC_URL',
    'FAREBOX_WALLET_KEY',
  ])
  expect(secret.filter(variable => variable.default !== undefined)).toEqual([])
})
