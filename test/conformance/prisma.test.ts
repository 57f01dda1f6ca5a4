import { describePrisma } from './describe-prisma'

describePrisma(({ name }) => !name.startsWith('sqlite'))
