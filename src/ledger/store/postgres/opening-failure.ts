import { percentDecoded } from '#contract/wire/json.ts'
import { isLoopback } from '#contract/wire/network-address.ts'

export interface OpeningFailure {
  fact: string
  nextStep: string
}

const setElsewhere = 'or correct `database` or DATABASE_URL.'

/** A server that requires TLS refuses a role without it by the same code. */
const lackedTls = ' If the server requires TLS, add `?sslmode=verify-full` to the address.'

/**
 * Explains why a database at this address could not be opened, by PostgreSQL's code or Node's: the driver's own message
 * may be in any language, and may repeat the address with its password.
 */
export function openingFailure(error: unknown, url: string): OpeningFailure | null {
  const { code } = error as NodeJS.ErrnoException
  const { name, role, place, flags, mayLackTls } = partsOf(url)
  switch (code) {
    case '3D000':
      return {
        fact: `The PostgreSQL database ${name} does not exist.`,
        nextStep: `Create it with \`${['createdb', ...flags, ...(role ? [`--owner=${role}`] : []), name].join(' ')}\`, as a role that may create databases, ${setElsewhere}`,
      }
    case '28000':
      return {
        fact: `PostgreSQL${place} refuses the role${role && ` ${role}`}: it does not exist, or pg_hba.conf does not allow it (${code}).`,
        nextStep: `Create it with \`${['createuser', ...flags, role].filter(Boolean).join(' ')}\`, allow it, ${setElsewhere}${mayLackTls ? lackedTls : ''}`,
      }
    case '28P01':
      return {
        fact: `PostgreSQL${place} refuses the password of the role${role && ` ${role}`} (${code}).`,
        nextStep: 'Correct the password in `database` or DATABASE_URL.',
      }
    case '53300':
      return {
        fact: `PostgreSQL${place} has no connection left (${code}).`,
        nextStep: 'Raise its max_connections, or end other connections.',
      }
    default:
      return connectingFailure(error as NodeJS.ErrnoException, place)
  }
}

/** Node's codes for a certificate that is not trusted, has expired, or is for another host. */
const certificateCodes = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|HOSTNAME_)/

function connectingFailure({ code = '', syscall, path }: NodeJS.ErrnoException, place: string): OpeningFailure | null {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      fact: `The certificate of PostgreSQL${place} is for another host (${code}).`,
      nextStep: 'In `database` or DATABASE_URL, use the host name that your provider gave you.',
    }
  if (certificateCodes.test(code))
    return {
      fact: `The certificate of PostgreSQL${place} is not trusted here (${code}).`,
      nextStep:
        'Add `sslrootcert=FILE` with the certificate authority of your provider to the address in `database` or DATABASE_URL.',
    }
  if (syscall === 'open')
    return {
      fact: `The file \`${path}\` that the address of the database names cannot be read (${code}).`,
      nextStep: 'Correct `sslrootcert`, `sslcert` or `sslkey` in `database` or DATABASE_URL.',
    }
  return /^E(?!RR_)[A-Z_]+$/.test(code)
    ? { fact: `PostgreSQL${place} does not answer (${code}).`, nextStep: `Start it, ${setElsewhere}` }
    : null
}

interface AddressParts {
  name: string
  role: string
  place: string
  flags: string[]
  /** Whether the address names another machine, and no TLS. */
  mayLackTls: boolean
}

/** Without the password. Values with special characters are quoted for a shell. */
function partsOf(url: string): AddressParts {
  if (!URL.canParse(url)) return { name: '', role: '', place: '', flags: [], mayLackTls: false }
  const { hostname, port, pathname, username, searchParams } = new URL(url)
  const role = percentDecoded(username) || (searchParams.get('user') ?? '')
  const host = hostname.replace(/^\[|\]$/g, '') || (searchParams.get('host') ?? '')
  const flags = [...(host ? [`--host=${quoted(host)}`] : []), ...(port ? [`--port=${port}`] : [])]
  const place = host ? ` at ${host}${port ? `:${port}` : ''}` : ''
  const mayLackTls = hostname !== '' && !isLoopback(hostname) && !searchParams.has('sslmode')
  // Without a database name, PostgreSQL uses the role's name.
  const name = quoted(percentDecoded(pathname.slice(1)) || role)
  return { name, role: role && quoted(role), place, flags, mayLackTls }
}

const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
