import { CliError } from '../command.ts'
import { rotateFolderSecret, type Secrets, secretsToStart, writeFolderSecrets } from '../data/folder-secrets.ts'
import { type LedgerPlace, requireLedger, requireSecrets } from '../data/ledger-place.ts'
import { openWhenFree, requireNoService } from '../data/service-admin.ts'
import { counted } from '../show/counted.ts'
import { type LedgerOperator, openOnLedger } from './operator.ts'

/** A running service reads its secrets only at startup: after a change, it would create keys that do not work. */
const requireStopped = ({ folder }: LedgerPlace): Promise<void> => requireNoService(folder)

const openStopped = (ledger: LedgerPlace, secrets: Secrets): Promise<LedgerOperator> =>
  openWhenFree(ledger.folder, () => openOnLedger(ledger, secrets))

function requireOwnSecret({ env, configured }: LedgerPlace): void {
  if (configured)
    throw new CliError(
      'The secrets come from the configuration.',
      'Put a new one before the current one in `secrets`, then restart the service.',
    )
  if (!env.FAREBOX_SECRET) return
  throw new CliError(
    'The secret comes from the environment.',
    'Set a new secret in FAREBOX_SECRET and the current one in FAREBOX_FORMER_SECRET, then restart the service.',
  )
}

/** Puts a new secret before the others; returns what to do next. */
export async function rotateSecret(ledger: LedgerPlace, breakKeys: boolean): Promise<string> {
  if (breakKeys) return replaceLostSecret(ledger)
  requireOwnSecret(ledger)
  await requireStopped(ledger)
  const opened = await openStopped(ledger, await requireSecrets(ledger))
  try {
    await opened.requireSecret()
    const rotated = await rotateFolderSecret(ledger.folder)
    // If this fails, the next start does it.
    await opened.noteSecret(rotated, 'secret.rotate')
    const [, ...former] = rotated
    const kept = former.length === 1 ? 'The former one is' : `${former.length} former ones are`
    return `Created a new secret. ${kept} still accepted until you run \`farebox keys drop-secrets\`.`
  } finally {
    await opened.close()
  }
}

/** If the ledger's secret is lost, the ledger switches to the current one, or to a new one. */
async function replaceLostSecret(ledger: LedgerPlace): Promise<string> {
  await requireStopped(ledger)
  await requireLedger(ledger)
  const secrets = ledger.configured ? await ledger.configured() : await secretsToStart(ledger.folder, ledger.env)
  const opened = await openStopped(ledger, secrets)
  try {
    await opened.replaceSecret(secrets)
    const { missing } = await opened.needs()
    const elsewhere = ledger.configured ? 'the configuration' : ledger.env.FAREBOX_SECRET && 'FAREBOX_SECRET'
    const where = elsewhere || ledger.folder.secret
    const ended = missing > 0 ? ` ${counted(missing, 'key')} with another secret stopped working.` : ''
    return `The ledger now uses the secret in ${where}.${ended}`
  } finally {
    await opened.close()
  }
}

/** Drops all former secrets. Refuses if keys would stop working, unless the user asked for that. */
export async function dropSecrets(ledger: LedgerPlace, breakKeys: boolean): Promise<string> {
  requireOwnSecret(ledger)
  await requireStopped(ledger)
  const secrets = await requireSecrets(ledger)
  if (secrets.length === 1) return 'There is no former secret.'
  const opened = await openStopped(ledger, secrets)
  try {
    await opened.noteSecret(secrets)
    const { former } = await opened.needs()
    if (former > 0 && !breakKeys) {
      throw new CliError(
        `${counted(former, 'key')} may still need a former secret.`,
        'Replace and revoke them (`farebox keys list` shows which), or repeat this with `--break-keys`.',
      )
    }
    await opened.noteDrop(secrets)
    await writeFolderSecrets(ledger.folder, [secrets[0]])
    const ended = former > 0 ? ` ${counted(former, 'key')} stopped working.` : ''
    return `${counted(secrets.length - 1, 'former secret')} dropped. Older download links stop working.${ended}`
  } finally {
    await opened.close()
  }
}
