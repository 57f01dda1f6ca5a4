import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** An object that a caller passes to the package, such as the options of a constructor, and where it is passed. */
export interface PassedObject {
  /** Such as `LockingTaskExecutor.shutdown(options)`, or `TaskConfiguration.keepAlive` inside of another object. */
  readonly where: string
  /** The name of its type, or `where` if that has none. */
  readonly type: string
  /** Its properties, inherited ones too. */
  readonly properties: readonly string[]
}

type Declaration = ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.ClassDeclaration

const folder = join(__dirname, '../../api')
const statements = readdirSync(folder)
  .sort()
  .flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return [...ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true).statements]
  })
const declarations = new Map(
  statements.flatMap((each) => (isDeclaration(each) && each.name ? [[each.name.text, each] as const] : [])),
)

function isDeclaration(node: ts.Node): node is Declaration {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)
}

/** All objects that callers pass, by the reports in `api`. What the package passes to the functions of a caller is none of them. */
export function passedObjects(): readonly PassedObject[] {
  const found = new Map<string, PassedObject>()
  const add = (object: PassedObject): void => void found.set(`${object.where} ${object.type}`, object)
  const visited = new Set<string>()

  const members = (
    nodes: readonly (ts.TypeElement | ts.ClassElement)[],
    owner: string,
    passed: boolean,
  ): void => {
    for (const node of nodes) {
      if (ts.isConstructorDeclaration(node)) parameters(node, `new ${owner}`, !passed)
      if (ts.isMethodSignature(node) || ts.isMethodDeclaration(node)) {
        parameters(node, `${owner}.${node.name.getText()}`, !passed)
        type(node.type, `${owner}.${node.name.getText()}()`, passed)
      }
      if (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node))
        type(node.type, `${owner}.${node.name.getText()}`, passed)
    }
  }
  /** What a caller passes to a function of the package is passed; so is what a function of the caller returns. */
  const parameters = (node: ts.SignatureDeclaration, of: string, passed: boolean): void => {
    for (const each of node.parameters) {
      // A pattern has no name: it is one of options.
      type(each.type, `${of}(${ts.isIdentifier(each.name) ? each.name.text : 'options'})`, passed)
    }
  }
  const type = (node: ts.TypeNode | undefined, where: string, passed: boolean): void => {
    if (!node) return
    if (ts.isTypeLiteralNode(node)) {
      if (passed) add({ where, type: where, properties: propertiesOf(node.members) })
      members(node.members, where, passed)
    } else if (ts.isFunctionTypeNode(node)) {
      parameters(node, where, !passed)
      type(node.type, `${where}()`, passed)
    } else if (ts.isTypeReferenceNode(node)) {
      reference(node, where, passed)
    } else if (!ts.isIndexedAccessTypeNode(node) && !ts.isMappedTypeNode(node)) {
      ts.forEachChild(node, (child) => {
        if (ts.isTypeNode(child)) type(child, where, passed)
      })
    }
  }
  const reference = (node: ts.TypeReferenceNode, where: string, passed: boolean): void => {
    const name = node.typeName.getText()
    const declaration = declarations.get(name)
    if (name === 'Omit') {
      if (passed) add({ where, type: where, properties: propertiesWithout(node.typeArguments) })
      return
    }
    for (const argument of node.typeArguments ?? []) type(argument, where, passed)
    const keys = name === 'Record' && passed ? literals(node.typeArguments?.[0]) : []
    if (keys.length > 0) add({ where, type: where, properties: keys })
    if (!declaration) return
    if (passed && ts.isInterfaceDeclaration(declaration))
      add({ where, type: name, properties: propertiesOfType(name) })
    if (ts.isTypeAliasDeclaration(declaration)) {
      type(declaration.type, where, passed)
      return
    }
    // The functions of a class are those of the package, whoever passes its object.
    const visit = `${name} ${passed}`
    if (ts.isClassDeclaration(declaration) || visited.has(visit)) return
    visited.add(visit)
    for (const base of declaration.heritageClauses?.flatMap(({ types }) => types) ?? [])
      if (declarations.has(base.expression.getText()))
        members(membersOf(base.expression.getText()), base.expression.getText(), passed)
    members([...declaration.members], name, passed)
  }

  for (const statement of statements) {
    if (ts.isFunctionDeclaration(statement) && statement.name) {
      parameters(statement, statement.name.text, true)
      type(statement.type, `${statement.name.text}()`, false)
    }
    if (ts.isClassDeclaration(statement) && statement.name)
      members([...statement.members], statement.name.text, false)
    // Such as the extension of Prisma: what is in it, the package has made.
    if (ts.isInterfaceDeclaration(statement) && statement.name.text.endsWith('Client'))
      members([...statement.members], statement.name.text, false)
  }
  return [...found.values()]
}

/** `'a' | 'b'`, also by the name of an alias. */
function literals(node: ts.TypeNode | undefined): string[] {
  if (!node) return []
  if (ts.isUnionTypeNode(node)) return node.types.flatMap(literals)
  if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) return [node.literal.text]
  const alias = ts.isTypeReferenceNode(node) ? declarations.get(node.typeName.getText()) : undefined
  return alias && ts.isTypeAliasDeclaration(alias) ? literals(alias.type) : []
}

function membersOf(name: string): readonly ts.TypeElement[] {
  const declaration = declarations.get(name)
  return declaration && ts.isInterfaceDeclaration(declaration) ? [...declaration.members] : []
}

function propertiesOf(members: readonly ts.TypeElement[]): string[] {
  return members.flatMap(({ name }) => (name ? [name.getText()] : []))
}

/** The properties of an interface, those that it inherits too, through `Omit` as well. */
export function propertiesOfType(name: string): string[] {
  const declaration = declarations.get(name)
  if (!declaration || !ts.isInterfaceDeclaration(declaration)) return []
  const inherited = (declaration.heritageClauses ?? [])
    .flatMap(({ types }) => types)
    .flatMap(({ expression, typeArguments = [] }) => {
      return expression.getText() === 'Omit'
        ? propertiesWithout(typeArguments)
        : propertiesOfType(expression.getText())
    })
  return [...new Set([...inherited, ...propertiesOf([...declaration.members])])]
}

/** The properties that `Omit` leaves of a type. */
function propertiesWithout([base, omitted]: readonly ts.TypeNode[] = []): string[] {
  return propertiesOfType(base && ts.isTypeReferenceNode(base) ? base.typeName.getText() : '').filter(
    (each) => !literals(omitted).includes(each),
  )
}
