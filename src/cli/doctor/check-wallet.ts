import type { AgentSettings } from '#agent/settings/settings.ts'
import type { AgentEnvironment } from '#agent/settings/wallet-settings.ts'
import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { lowered } from '#contract/errors/as-clause.ts'
import { addUsd, displayUsd } from '#contract/money.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { broken, type Finding, note, ok } from './finding.ts'

const check = 'who pays'

/**
 * Checks which of the three pays, as the assistant decides it: keys in the environment, an API key, the folder's
 * wallet.
 */
export async function checkPayer(
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
    if (given.length > 0) return [ok(check, `The wallet from the environment, ${named(given)}.`)]
    if (apiKey !== undefined) return [ok(check, 'The account of FAREBOX_API_KEY; farebox cannot buy credit for it.')]
    const { keys, lockedWallet } = await folderKeys(folder, baseUrlOf(env), passphrase)
    if (keys.length > 0) return [ok(check, `The wallet in ${folder}, ${named(keys)}; it can be unlocked.`)]
    if (lockedWallet !== null) return [locked(lockedWallet, folder)]
    return [cannotPay(folder)]
  } catch (error) {
    const addresses = await knownAddresses(folder, env).catch(() => [])
    const whose = addresses.length > 0 ? ` (${addresses.join(', ')})` : ''
    return [
      broken(
        check,
        `The wallet in ${folder}${whose} cannot be unlocked: ${lowered((error as Error).message)}`,
        'Without a wallet, an assistant cannot pay.',
      ),
    ]
  }
}

const named = (keys: readonly { address: string }[]): string => keys.map(({ address }) => address).join(' and ')

const locked = (address: string, folder: string): Finding =>
  note(
    check,
    `The wallet in ${folder} (${address}) is locked.`,
    'Start the assistant with `mcp --passphrase-file FILE`; to try a file, run `farebox doctor --assistant --passphrase-file FILE`.',
  )

const cannotPay = (folder: string): Finding =>
  note(
    check,
    `Paid calls are not possible: FAREBOX_API_KEY is not set, and there is no wallet in ${folder}.`,
    'Set a key, or run `farebox wallet create --service URL`. Free tools work without them.',
  )

const capsCheck = 'caps'

type WalletStatus = Awaited<ReturnType<OwnerWallet['status']>>

/** Shows each cap with its source, how much is used, and what prevents the wallet from paying at all. */
export async function checkCaps(env: AgentEnvironment, folder: string): Promise<readonly Finding[]> {
  const [{ capsInEffect, topUpWithoutAsking }, { journalStatus }] = await Promise.all([
    import('#agent/settings/caps-in-effect.ts'),
    import('#agent/wallet/owner-wallet.ts'),
  ])
  try {
    const { caps, isDryRun, hasStopFile } = capsInEffect(env, folder)
    const rows = caps.map(
      ({ of, amountMicroUsd, saidBy }) => `${of} ${displayUsd(amountMicroUsd)} (${saidBy ?? 'default'})`,
    )
    const status = await journalStatus(folder, env)
    const unasked = status?.asksNextPayment ? 'the first payment needs your approval, and after that ' : ''
    return [
      ok(capsCheck, `These apply: ${rows.join(', ')}; ${unasked}${topUpWithoutAsking}.`),
      ...(status ? usedOf(status) : []),
      ...(isDryRun ? [dryRun] : []),
      ...(hasStopFile
        ? [
            note(
              capsCheck,
              `The wallet is stopped by the file \`stop\` in ${folder}.`,
              'Remove that file to allow payments.',
            ),
          ]
        : []),
    ]
  } catch (error) {
    return [broken(capsCheck, (error as Error).message, 'The wallet pays nothing until this is fixed.')]
  }
}

/** Shows transfers that are not known to have arrived; the check of the chain completes those that have. */
export async function checkTransfers(env: AgentEnvironment, folder: string): Promise<readonly Finding[]> {
  const [{ journalStatus, openOwnerWallet }, { openOwnerSends }, { baseUrlOf }, { withLocalNodes }] = await Promise.all(
    [
      import('#agent/wallet/owner-wallet.ts'),
      import('#agent/wallet/send-from-wallet.ts'),
      import('#agent/settings/wallet-settings.ts'),
      import('../wallet/local-nodes.ts'),
    ],
  )
  // Problems with reading the journal are shown with the caps.
  if ((await journalStatus(folder, env).catch(() => null)) === null) return []
  const owner = openOwnerWallet(folder, env)
  const sends = openOwnerSends(owner, await withLocalNodes(env, baseUrlOf(env), folder))
  try {
    const open = (await sends.followOpen()).filter(({ state }) => state !== 'confirmed' && state !== 'dead')
    return open.map(({ id, amountMicroUsd, payTo }) =>
      note(
        'transfers',
        `The transfer ${id} of ${displayUsd(amountMicroUsd)} to ${payTo} is not on the chain yet.`,
        'Repeat `farebox wallet send` with the same address and amount, or wait: it expires on its own.',
      ),
    )
  } finally {
    await sends.close()
    await owner.close()
  }
}

function usedOf(status: WalletStatus): Finding[] {
  const { stop, caps, spentDayMicroUsd, spentTotalMicroUsd } = status
  const { maxDayMicroUsd, maxTotalMicroUsd } = caps
  const used = `${displayUsd(spentDayMicroUsd)} of ${displayUsd(maxDayMicroUsd)} in 24 hours, ${displayUsd(spentTotalMicroUsd)} of ${displayUsd(maxTotalMicroUsd)} in total`
  return [
    ok(capsCheck, `Paid or reserved: ${used}.`),
    ...usedUp(status),
    ...(stop
      ? [
          note(
            capsCheck,
            `The wallet has been stopped since ${new Date(stop.atMs).toISOString()}, by ${stop.by}.`,
            'Run `farebox wallet start` to allow payments again.',
          ),
        ]
      : []),
  ]
}

/** A cap is used up if it leaves no room for the smallest top-up. */
function usedUp({ caps, spentDayMicroUsd, spentTotalMicroUsd, moreFromMs }: WalletStatus): Finding[] {
  const leaves = (cap: string, left: bigint) =>
    `The cap ${cap} leaves ${displayUsd(addUsd(left > 0n ? left : 0n))}; the smallest top-up is ${displayUsd(smallestTopUpMicroUsd)}.`
  const [total, day] = [caps.maxTotalMicroUsd - spentTotalMicroUsd, caps.maxDayMicroUsd - spentDayMicroUsd]
  if (total < smallestTopUpMicroUsd)
    return [note(capsCheck, leaves('in total', total), 'Raise FAREBOX_MAX_TOTAL_USD to pay more.')]
  if (day >= smallestTopUpMicroUsd) return []
  const wait = moreFromMs === null ? 'Raise' : `Wait until ${new Date(moreFromMs).toISOString()}, or raise`
  return [note(capsCheck, leaves('in 24 hours', day), `${wait} FAREBOX_MAX_DAY_USD.`)]
}

const dryRun = note(
  capsCheck,
  'This is a dry run: no payment is signed.',
  'To pay, unset FAREBOX_DRY_RUN or remove `dryRun` from policy.json.',
)
