/** What is asked of a PrismaClient before the first lock. `$extends` returns the extension. */
export const prisma = {
  _activeProvider: 'postgresql',
  $connect: () => Promise.resolve(),
  $executeRawUnsafe: () => Promise.resolve(0),
  $queryRawUnsafe: () => Promise.resolve([]),
  $transaction: () => Promise.reject(new Error('unused')),
  $extends: (extension: object): unknown => (Object.keys(extension).length === 0 ? prisma : extension),
}
