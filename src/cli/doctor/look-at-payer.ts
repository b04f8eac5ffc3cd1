import type { AgentSettings } from '#agent/settings/settings.ts'
import { broken, type Finding, note, ok } from './finding.ts'

const check = 'who pays'

/** Which of the three pays, as the assistant decides it: keys of the environment, an API key, the wallet of the folder. */
export async function lookAtPayer(
  { env, apiKey }: AgentSettings,
  folder: string,
  passphrase: string | null,
): Promise<readonly Finding[]> {
  const [{ environmentKeys, folderKeys, knownAddresses }, { baseUrlOf }] = await Promise.all([
    import('#agent/wallet/wallet-keys.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  try {
    const given = await environmentKeys(env)
    if (given.length > 0) return [ok(check, `The wallet of the environment, ${named(given)}.`)]
    if (apiKey !== undefined) return [ok(check, 'The account of FAREBOX_API_KEY; nothing is ever topped up.')]
    const { keys, lockedWallet } = await folderKeys(folder, baseUrlOf(env), passphrase)
    if (keys.length > 0) return [ok(check, `The wallet in ${folder}, ${named(keys)}; it opens.`)]
    if (lockedWallet !== null) return [locked(lockedWallet, folder)]
    return [nobody(folder)]
  } catch (error) {
    const addresses = await knownAddresses(folder, env).catch(() => [])
    const whose = addresses.length > 0 ? ` (${addresses.join(', ')})` : ''
    return [
      broken(
        check,
        `The wallet in ${folder}${whose} does not open: ${(error as Error).message}`,
        'Without it an assistant cannot pay.',
      ),
    ]
  }
}

const named = (keys: readonly { address: string }[]): string => keys.map(({ address }) => address).join(' and ')

const locked = (address: string, folder: string): Finding =>
  note(
    check,
    `The wallet in ${folder} (${address}) is locked.`,
    'The assistant needs `--passphrase-file FILE` beside `mcp`; `farebox doctor --assistant --passphrase-file FILE` tries one.',
  )

const nobody = (folder: string): Finding =>
  note(
    check,
    `Nobody: FAREBOX_API_KEY is not set, and no wallet is in ${folder}.`,
    'Set a key, or run `farebox wallet create --service URL`; what is free works without.',
  )
