// What starts the plan on the screen: command lines and files of the engines that the library knows.

import { useEffect, useState } from "preact/hooks";
import { command, refusal, subject } from "./core";
import { Choice, Words } from "./parts";
import { state } from "./state";

/** The engines, as the command's own schema names them. */
async function engineNames(): Promise<string[]> {
  const schema = JSON.parse((await command("schema", "export")).text) as { properties: { to: { enum: string[] } } };
  return schema.properties.to.enum;
}
/** @param question changes with what is on the screen */
export function Launches({ question }: { question: string }) {
  const [names, setNames] = useState<string[]>([]), [engine, choose] = useState(""), [text, setText] = useState("");
  useEffect(() => { void engineNames().then(setNames); }, []);
  useEffect(() => {
    let here = true;
    void (async () => {
      if (!engine) { setText(""); return; }
      const words = await subject(state.machine);
      if ("refused" in words) { setText(words.refused); return; }
      const answer = await command("export", ...words.words, "--to", engine);
      if (here) setText(answer.code === 0 ? `${answer.text}${answer.notes}` : refusal(answer));
    })();
    return () => { here = false; };
  }, [engine, question]);
  return (
    <>
      <Choice id="engine" label="Launch file of an engine" value={engine || "none"} names={["none", ...names]} choose={(name) => choose(name === "none" ? "" : name)} />
      {text && <Words id="launch-text">{text}</Words>}
    </>
  );
}
