/** Every operation of a batch, one array a column; what the columns hold for each operation is in `batch-columns.ts`. */
const columns = [
  ...['kinds text[]', 'names text[]', 'accounts text[]', 'amounts bigint[]', 'times_ms bigint[]', 'owners text[]'],
  ...['until_ms bigint[]', 'keys text[]', 'epochs_ms bigint[]', 'months_ms bigint[]', 'days_ms bigint[]'],
  ...['granted bigint[]', 'most_open bigint[]', 'expired_at_ms bigint[]', 'requests text[]', 'words text[]'],
  ...['write_offs bigint[]', 'fields text[]', 'first_lines int[]', 'line_counts int[]'],
  ...['flushes boolean[]', 'skus text[]', 'line_units bigint[]', 'prices bigint[]', 'line_amounts bigint[]'],
]

export const declaredColumns = columns.join(', ')
export const passedColumns = columns.map(column => column.split(' ')[0]).join(', ')
