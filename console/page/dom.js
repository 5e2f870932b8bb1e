/**
 * Building and updating what is shown. Data becomes text nodes and attributes, never markup: task payloads and error texts are hostile.
 *
 * @typedef {Node | string | number | null | undefined | false | readonly any[]} Child
 * @typedef {string | number | boolean | null | undefined | ((event: any) => unknown)} Value
 * @typedef {Readonly<Record<string, Value>>} Props
 */

const SVG = 'http://www.w3.org/2000/svg';

/** Handlers are properties, so that an update can hand a node the latest ones. */
const HANDLERS = /** @type {const} */ (['onclick', 'onsubmit', 'oninput', 'onchange']);

/**
 * An element of HTML. `on…` are handlers, `--…` are custom properties of its style, everything else is an attribute.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  return /** @type {HTMLElement} */ (filled(document.createElement(tag), props, children));
}

/**
 * An element of SVG.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  return /** @type {SVGElement} */ (filled(document.createElementNS(SVG, tag), props, children));
}

/**
 * Changes what is there into what it should be, node by node, so that focus, scrolling and what is being typed stay.
 * Children with a `data-key` are matched by it, others by their place.
 * @param {Element} old
 * @param {Element} next
 */
export function morph(old, next) {
  morphAttributes(old, next);
  for (const name of HANDLERS) {
    const [from, to] = /** @type {[HTMLElement, HTMLElement]} */ ([next, old]);
    if (to[name] !== from[name]) to[name] = /** @type {any} */ (from[name]);
  }
  morphChildren(old, [...next.childNodes]);
}

/**
 * @param {Element} element
 * @param {Props} props
 * @param {readonly Child[]} children
 */
function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') /** @type {any} */ (element)[name] = value;
    else if (name.startsWith('--')) /** @type {HTMLElement} */ (element).style.setProperty(name, String(value));
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(9))
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  return element;
}

/**
 * @param {Element} old
 * @param {Element} next
 */
function morphAttributes(old, next) {
  for (const { name } of [...old.attributes])
    // Whether a person has opened it is theirs to say.
    if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) === value) continue;
    // Style attributes count as inline styles, which the page's policy forbids; its object model does not.
    if (name === 'style') /** @type {HTMLElement} */ (old).style.cssText = value;
    else old.setAttribute(name, value);
  }
}

/**
 * @param {Element} parent
 * @param {readonly ChildNode[]} wanted
 */
function morphChildren(parent, wanted) {
  /** @type {Map<string, Element>} */
  const keyed = new Map();
  for (const child of parent.children) {
    const key = keyOf(child);
    if (key !== undefined) keyed.set(key, child);
  }
  /** @type {ChildNode | null} */
  let place = parent.firstChild;
  for (const node of wanted) {
    const key = keyOf(node);
    const match = key === undefined ? place : (keyed.get(key) ?? null);
    if (match !== null && isSameKind(match, node)) {
      if (match === place) place = place.nextSibling;
      else parent.insertBefore(match, place);
      if (match instanceof Element && node instanceof Element) morph(match, node);
      else if (match.nodeValue !== node.nodeValue) match.nodeValue = node.nodeValue;
    } else parent.insertBefore(node, place);
  }
  while (place !== null) {
    const rest = place;
    place = place.nextSibling;
    rest.remove();
  }
}

/**
 * @param {Node} one
 * @param {Node} other
 */
function isSameKind(one, other) {
  return one.nodeName === other.nodeName && keyOf(one) === keyOf(other);
}

/** @param {Node} node */
function keyOf(node) {
  return node instanceof Element ? (node.getAttribute('data-key') ?? undefined) : undefined;
}
