export default function Page() {
  return <main>middle-core</main>;
}
