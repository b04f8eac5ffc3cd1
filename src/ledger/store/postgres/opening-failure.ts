import { percentDecoded } from '#contract/wire/json.ts'
/** What is wrong and what to do. */
export interface OpeningFailure {
  fact: string
  nextStep: string
}

const setElsewhere = 'or correct `database` or DATABASE_URL.'

/**
 * Explains why a database at this address could not be opened, by PostgreSQL's code or Node's: the driver's own message
 * may be in any language, and may repeat the address with its password.
 */
export function openingFailure(error: unknown, url: string): OpeningFailure | null {
  const { code } = error as NodeJS.ErrnoException
  const { name, role, place, flags } = partsOf(url)
  switch (code) {
    case '3D000':
      return {
        fact: `The PostgreSQL database ${name} does not exist.`,
        nextStep: `Create it with \`${['createdb', ...flags, ...(role ? [`--owner=${role}`] : []), name].join(' ')}\`, as a role that may create databases, ${setElsewhere}`,
      }
    case '28000':
      return {
        fact: `PostgreSQL${place} refuses the role${role && ` ${role}`}: it does not exist, or pg_hba.conf does not allow it (${code}).`,
        nextStep: `Create it with \`${['createuser', ...flags, role].filter(Boolean).join(' ')}\`, allow it, ${setElsewhere}`,
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
      return code && /^E[A-Z_]+$/.test(code)
        ? { fact: `PostgreSQL${place} does not answer (${code}).`, nextStep: `Start it, ${setElsewhere}` }
        : null
  }
}

/** Without the password. Values with special characters are quoted for a shell. */
function partsOf(url: string): { name: string; role: string; place: string; flags: string[] } {
  if (!URL.canParse(url)) return { name: '', role: '', place: '', flags: [] }
  const { hostname, port, pathname, username, searchParams } = new URL(url)
  const role = percentDecoded(username) || (searchParams.get('user') ?? '')
  const host = hostname.replace(/^\[|\]$/g, '') || (searchParams.get('host') ?? '')
  const flags = [...(host ? [`--host=${quoted(host)}`] : []), ...(port ? [`--port=${port}`] : [])]
  const place = host ? ` at ${host}${port ? `:${port}` : ''}` : ''
  // Without a database name, PostgreSQL uses the role's name.
  return { name: quoted(percentDecoded(pathname.slice(1)) || role), role: role && quoted(role), place, flags }
}

const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
