/** The version in package.json; written by `npm run generate`. */
export const version = '0.1.0'
