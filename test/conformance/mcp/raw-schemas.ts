import type { ObjectSchema } from '#mcp/listing.ts'

/** Schemas as they stand in a listing: a client must receive them exactly as written. */
export const rawSchemas: Readonly<Record<string, ObjectSchema>> = {
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
  test_x_mcp_header: {
    type: 'object',
    properties: {
      region: { type: 'string', description: 'Also in Mcp-Param-Region.', 'x-mcp-header': 'Region' },
      level: { type: 'integer' },
    },
  },
}
